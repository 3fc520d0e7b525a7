package extract

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// deflated is b as a zlib stream.
func deflated(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pdfStream is an object whose stream holds data.
func pdfStream(dict string, data []byte) string {
	return fmt.Sprintf("1 0 obj\n<< %s /Length %d >>\nstream\r\n%s\nendstream\nendobj\n", dict, len(data), data)
}

func checkLinks(t *testing.T, x *Extractor, doc Document, want string) {
	t.Helper()
	if got := describe(x.Links(doc)); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPDF(t *testing.T) {
	inner := []byte("<< /S /URI /URI (http://h.test/packed) >>")
	up := []byte{}
	for i, c := range inner { // one column, filtered by what stands above
		before := byte(0)
		if i > 0 {
			before = inner[i-1]
		}
		up = append(up, 2, c-before)
	}
	tests := []struct{ name, pdf, want string }{
		{"action", "<</Type/Annot/A<</S/URI/URI(http://h.test/1)>>>>", "L /1 =NAVLINK_MISC"},
		{"escapes and parentheses", `<< /URI (http://h.test/a\(b\)(c)\057d\` + "\ne) >>", "L /a(b)(c)/de =NAVLINK_MISC"},
		{"hex and UTF-16", "/URI <687474703A2F2F682E746573742F31> /URI <FEFF0068007400740070003A002F002F0068002E0074006500730074002F0032>", "L /1 =NAVLINK_MISC\nL /2 =NAVLINK_MISC"},
		{"remote file", "<< /S /GoToR /F << /Type /Filespec /FS /URL /F (http://h.test/1.pdf) >> >>", "L /1.pdf =NAVLINK_MISC"},
		{"relative", "/URI (other.pdf)", "L /d/other.pdf =NAVLINK_MISC"},
		{"base", "<< /URI << /Base (http://h.test/base/) >> >> /URI (1.html)", "L /base/1.html =NAVLINK_MISC"},
		{"script", `<< /S /JavaScript /JS (app.launchURL\("http://h.test/1"\)) >>`, "X /1 =JS_MISC"},
		{"object stream", pdfStream("/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode", deflated(t, inner)), "L /packed =NAVLINK_MISC"},
		{"predictor", pdfStream("/Type/ObjStm/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 1>>", deflated(t, up)), "L /packed =NAVLINK_MISC"},
		{"other streams", pdfStream("/Filter /FlateDecode", deflated(t, inner)) + pdfStream("", inner), ""},
		{"between streams", pdfStream("", []byte("x")) + "/URI (http://h.test/stream/1)" + pdfStream("", []byte("y")) + "/URI(http://h.test/2)", "L /stream/1 =NAVLINK_MISC\nL /2 =NAVLINK_MISC"},
		{"encrypted", "trailer << /Encrypt 1 0 R >> /URI (\x01\x02garbage.x) /URI (http://h.test/1)", "L /1 =NAVLINK_MISC"},
		{"names that are none", "/URIs (http://no.test/) /S /URI /Border [0 0 0]", ""},
		{"cut off", "/URI (http://no.test/", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkLinks(t, New(), Document{URL: "http://h.test/d/p.pdf", ContentType: "application/pdf", Body: []byte("%PDF-1.7\n" + tt.pdf)}, tt.want)
		})
	}
}

// zipped is a ZIP file of names and contents by turns.
func zipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const (
	typeDOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	typeODT  = "application/vnd.oasis.opendocument.text"
)

func TestOffice(t *testing.T) {
	rels := `<?xml version="1.0"?><Relationships xmlns="http://no.test/package/2006/relationships"><Relationship Id="r1" Type="http://no.test/relationships/styles" Target="styles.xml"/>
<Relationship Id="r2" Type="http://no.test/relationships/hyperlink" Target="http://h.test/1?a=1&amp;b=2" TargetMode="External"/>
<Relationship Id="r3" Type="http://no.test/relationships/image" Target="http://h.test/2.png" TargetMode="External"/>
<Relationship Id="r4" Type="http://no.test/relationships/hyperlink" Target="mailto:a@b.c" TargetMode="External"/></Relationships>`
	word := `<w:document xmlns:w="http://no.test/w"><w:instrText xml:space="preserve"> HYPERLINK "http://h.test/3" </w:instrText><w:fldSimple w:instr="HYPERLINK &quot;http://h.test/4&quot;"/><w:t>http://no.test/</w:t></w:document>`
	docx := zipped(t, "[Content_Types].xml", `<Types xmlns="http://no.test/"/>`, "word/document.xml", word, "word/_rels/document.xml.rels", rels)
	want := "L /3 =NAVLINK_MISC\nL /4 =NAVLINK_MISC\nL /1?a=1&b=2 Relationship/@Target\nE /2.png Relationship/@Target"
	checkLinks(t, New(), Document{URL: "http://h.test/d/x", ContentType: typeDOCX, Body: docx}, want)
	checkLinks(t, New(), Document{URL: "http://h.test/d/x.docx", ContentType: "application/octet-stream", Body: docx[:len(docx)-60]}, want) // without its directory

	xlsx := zipped(t, "xl/worksheets/sheet1.xml", `<worksheet><c><f>HYPERLINK("http://h.test/1","x")</f></c><v>"http://no.test/"</v></worksheet>`)
	checkLinks(t, New(), Document{URL: "http://h.test/d/x.xlsx", Body: xlsx}, "L /1 =NAVLINK_MISC")

	odt := zipped(t, "mimetype", typeODT, "content.xml", `<office:document xmlns:office="http://no.test/"><text:a xlink:href="http://h.test/1">x</text:a><draw:image xlink:href="http://h.test/2.png"/><draw:image xlink:href="Pictures/no.png"/></office:document>`)
	checkLinks(t, New(), Document{URL: "http://h.test/d/x", ContentType: typeODT, Body: odt}, "L /1 text:a/@xlink:href\nE /2.png draw:image/@xlink:href")
}

func packed(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A packed sitemap of many windows gives every entry, those that a window cuts included.
func TestPackedSitemap(t *testing.T) {
	const n = 40000
	var xml, text bytes.Buffer
	xml.WriteString(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := range n {
		fmt.Fprintf(&xml, "<url><loc>http://h.test/some/longer/path/of/a/page/%d</loc><lastmod>2026-01-01</lastmod></url>\n", i)
		fmt.Fprintf(&text, "http://h.test/some/longer/path/of/a/page/that/makes/it/more/than/a/window/%d\n", i)
	}
	xml.WriteString("</urlset>")
	for name, body := range map[string][]byte{"sitemap.xml.gz": xml.Bytes(), "sitemap.txt.gz": text.Bytes()} {
		r := New().Links(Document{URL: "http://h.test/" + name, ContentType: "application/x-gzip", Body: packed(t, body)})
		if len(r.Links) != n || r.Dropped != 0 || r.Links[n-1].Hop != Manifest || !strings.HasSuffix(r.Links[n-1].URL, "/39999") {
			t.Errorf("%s: %d links, %d dropped", name, len(r.Links), r.Dropped)
		}
	}
	if r := New().Links(Document{URL: "http://h.test/x.gz", ContentType: "application/gzip", Body: packed(t, xml.Bytes())}); len(r.Links) != 0 {
		t.Errorf("any packed file gave %d links", len(r.Links))
	}
}

// What unpacks to far more than it is, is read within bounds.
func TestBombs(t *testing.T) {
	zeros := bytes.Repeat([]byte(" "), 12<<20)
	flate := deflated(t, zeros)
	var pdf strings.Builder
	for range 10 {
		pdf.WriteString(pdfStream("/Type/ObjStm/Filter/FlateDecode", flate))
	}
	var parts []string
	for i := range 3 {
		parts = append(parts, fmt.Sprintf("word/_rels/%d.rels", i), string(zeros))
	}
	documents := []Document{
		{URL: "http://h.test/x.pdf", ContentType: "application/pdf", Body: []byte(pdf.String())},
		{URL: "http://h.test/x.docx", ContentType: typeDOCX, Body: zipped(t, parts...)},
		{URL: "http://h.test/sitemap.xml.gz", ContentType: "application/gzip", Body: packed(t, zeros)},
	}
	x := New()
	for _, doc := range documents {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := x.Links(doc)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 3*maxStream || len(r.Links) > 0 {
			t.Errorf("%s: %d bytes allocated, %d links", doc.URL, grown, len(r.Links))
		}
	}
}

// Bytes at random, and documents cut anywhere, are no trouble.
func TestCutAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1024)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	docs := []Document{
		{ContentType: typeDOCX, Body: zipped(t, "word/_rels/document.xml.rels", `<Relationship Target="http://h.test/" TargetMode="External"/>`)},
		{ContentType: "application/pdf", Body: []byte(pdfStream("/Type/ObjStm/Filter/FlateDecode", deflated(t, []byte("/URI (http://h.test/)"))))},
		{ContentType: "application/gzip", Manifest: true, Body: packed(t, []byte("<urlset><url><loc>http://h.test/</loc></url></urlset>"))},
		{ContentType: "text/html", Body: noise}, {ContentType: "text/xml", Body: noise}, {ContentType: "application/pdf", Body: noise},
	}
	x := New()
	for _, doc := range docs {
		doc.URL = "http://h.test/d/p"
		whole := doc.Body
		for n := range len(whole) {
			doc.Body = whole[:n]
			x.Links(doc)
		}
	}
}
