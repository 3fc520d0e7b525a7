"""Reads WARC files of jobs with warcio, and looks up each record by the CDX of the metadata files.

    read_with_warcio.py FILE...

Prints what it read. The exit code is 1 if a record cannot be read, has a wrong digest, stands in no line of a CDX or in
two, or is another one than the line says.
"""
import os
import re
import sys

from warcio.archiveiterator import ArchiveIterator

FOUND_BY_CDX = ("response", "resource", "revisit")


def read_record(record):
    """Reads a record to its end, and returns its block without an HTTP head. warcio compares the digests meanwhile, but
    for those of revisits and of empty records."""
    content = record.raw_stream.read()
    compared = record.digest_checker
    without = record.rec_type == "revisit" or record.rec_headers.get_header("Content-Length") == "0"
    if compared.problems or not compared.passed and not without:
        raise ValueError("digests: %s" % (compared.problems or "not compared"))
    return content


def describe(record):
    """Type, URI and date of a record, as the CDX has them."""
    date = re.sub("[^0-9]", "", record.rec_headers.get_header("WARC-Date"))[:14]
    return record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), date


def read_file(path):
    """Yields offset, description and block of each record."""
    with open(path, "rb") as stream:
        records = ArchiveIterator(stream, check_digests=True)
        for record in records:
            described, block = describe(record), read_record(record)
            yield records.get_record_offset(), described, block  # the offset is known when all is read


def read_at(path, offset):
    """Returns the description of the record at an offset."""
    with open(path, "rb") as stream:
        stream.seek(offset)
        record = next(ArchiveIterator(stream, check_digests=True))
        read_record(record)
        return describe(record)


def main(paths):
    files = {os.path.basename(path): path for path in paths}
    problems, records, lines = [], 0, []
    due = {}  # records that a CDX must have, by file and offset
    for name, path in files.items():
        about = "-metadata-" in name
        try:
            for offset, described, block in read_file(path):
                records += 1
                kind, uri, _ = described
                if about and "/crawl/index/cdx?" in (uri or ""):
                    lines += block.decode().splitlines()
                elif not about and kind in FOUND_BY_CDX:
                    due[name, offset] = described
        except Exception as problem:
            problems.append("%s: %s: %s" % (name, type(problem).__name__, problem))
    for line in lines:
        url, _, date, _, _, name, offset = line.split(" ")
        try:
            kind, uri, at = read_at(files[name], int(offset))
            if (uri, at) != (url, date) or kind not in FOUND_BY_CDX:
                problems.append("%s at %s: %s of %s at %s, the CDX says: %s" % (name, offset, kind, uri, at, line))
        except Exception as problem:
            problems.append("%s at %s: %s: %s" % (name, offset, type(problem).__name__, problem))
        if due.pop((name, int(offset)), None) is None:
            problems.append("no record, or one that another line has: %s" % line)
    problems += ["%s at %d is in no CDX: %s" % (name, offset, due[name, offset]) for name, offset in due]
    print("\n".join(problems + ["%d files, %d records, %d found by CDX" % (len(files), records, len(lines))]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
