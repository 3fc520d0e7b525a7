import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jwat.common.Diagnosis;
import org.jwat.common.Diagnostics;
import org.jwat.common.RandomAccessFileInputStream;
import org.jwat.warc.WarcReader;
import org.jwat.warc.WarcReaderFactory;
import org.jwat.warc.WarcRecord;

/**
 * Reads WARC files of jobs with JWAT, and looks up each record by the CDX of the metadata files: java ReadWithJWAT FILE...
 * It prints what it read. The exit code is 1 if JWAT finds fault with a record, or if a record has a wrong digest, stands in
 * no line of a CDX or in two, or is another one than the line says.
 */
final class ReadWithJWAT {
    private static final List<String> FOUND_BY_CDX = Arrays.asList("response", "resource", "revisit");

    private final Map<String, String> files = new LinkedHashMap<>();
    private final Map<String, String> due = new LinkedHashMap<>(); // what a CDX must say, by file and offset
    private final List<String> lines = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();
    private int records;

    public static void main(String[] paths) {
        ReadWithJWAT all = new ReadWithJWAT();
        for (String path : paths) {
            all.files.put(new File(path).getName(), path);
        }
        all.files.keySet().forEach(all::readFile);
        all.lines.forEach(all::lookUp);
        all.due.forEach((place, what) -> all.problems.add(place + " is in no CDX: " + what));
        all.problems.forEach(System.out::println);
        System.out.printf("%d files, %d records, %d found by CDX%n", all.files.size(), all.records, all.lines.size());
        System.exit(all.problems.isEmpty() ? 0 : 1);
    }

    private void readFile(String name) {
        boolean about = name.contains("-metadata-");
        try (InputStream in = new FileInputStream(files.get(name)); WarcReader reader = open(in)) {
            for (WarcRecord record; (record = reader.getNextRecord()) != null;) {
                String place = name + " " + record.getStartOffset();
                records++;
                String block = read(record, place);
                String uri = record.header.warcTargetUriStr;
                if (about && uri != null && uri.contains("/crawl/index/cdx?")) {
                    lines.addAll(Arrays.asList(block.split("\n")));
                } else if (!about && FOUND_BY_CDX.contains(record.header.warcTypeStr)) {
                    due.put(place, describe(record));
                }
            }
            judge(reader.diagnostics, name);
            if (!reader.isCompliant()) {
                problems.add(name + ": JWAT says that it is not compliant");
            }
        } catch (IOException | RuntimeException problem) {
            problems.add(name + ": " + problem);
        }
    }

    private static WarcReader open(InputStream in) throws IOException {
        WarcReader reader = WarcReaderFactory.getReader(in, 64 * 1024);
        if (reader == null) {
            throw new IOException("JWAT takes it for no WARC file");
        }
        reader.setBlockDigestEnabled(true);
        reader.setPayloadDigestEnabled(true);
        return reader;
    }

    /** Reads a record to its end, and returns its block without an HTTP head. */
    private String read(WarcRecord record, String place) throws IOException {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        if (record.hasPayload()) {
            try (InputStream content = record.getPayloadContent()) {
                content.transferTo(block);
            }
        }
        record.close();
        judge(record.diagnostics, place);
        boolean compared = record.hasPayload(); // digests of empty records are not
        if (compared && !Boolean.TRUE.equals(record.isValidBlockDigest) || Boolean.FALSE.equals(record.isValidPayloadDigest)) {
            problems.add(place + ": digest of the block " + record.isValidBlockDigest + ", of the payload "
                    + record.isValidPayloadDigest);
        }
        return new String(block.toByteArray(), StandardCharsets.UTF_8);
    }

    private void judge(Diagnostics of, String place) {
        for (Diagnosis d : of.getErrors()) {
            problems.add(place + ": " + d.type + " " + d.entity + " " + Arrays.toString(d.information));
        }
        for (Diagnosis d : of.getWarnings()) {
            problems.add(place + ": " + d.type + " " + d.entity + " " + Arrays.toString(d.information));
        }
    }

    /** URI and date of a record, as the CDX has them. */
    private static String describe(WarcRecord record) {
        return record.header.warcTargetUriStr + " " + record.header.warcDateStr.replaceAll("[^0-9]", "").substring(0, 14);
    }

    /** Looks up the record of a line of a CDX: URL, IP, date, media type, length, file, offset. */
    private void lookUp(String line) {
        String[] words = line.split(" ");
        String name = words[5], place = name + " " + words[6];
        try (RandomAccessFileInputStream in = new RandomAccessFileInputStream(
                new java.io.RandomAccessFile(files.get(name), "r"))) {
            in.skip(Long.parseLong(words[6]));
            try (WarcReader reader = open(in)) {
                WarcRecord record = reader.getNextRecord();
                read(record, place);
                if (!describe(record).equals(words[0] + " " + words[2])
                        || !FOUND_BY_CDX.contains(record.header.warcTypeStr)) {
                    problems.add(place + ": " + record.header.warcTypeStr + " " + describe(record) + ", the CDX says: " + line);
                }
            }
        } catch (IOException | RuntimeException problem) {
            problems.add(place + ": " + problem);
        }
        if (due.remove(place) == null) {
            problems.add("no record, or one that another line has: " + line);
        }
    }
}
