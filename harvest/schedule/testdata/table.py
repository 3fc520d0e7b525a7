#!/usr/bin/env python3
"""Writes table.jsonl.gz: 10 000 random schedules and their dates, worked out without Holdfast.

Every date up to the horizon is found by going through all of them: local days one after the other, months counted from
the first date, minutes and hours added as elapsed time. What a local time means is found by trying both folds of
zoneinfo, and by going forward minute by minute where neither is real.

    python3 table.py          writes the table again (the same as before, but for the time zone database)
"""
import calendar, gzip, hashlib, json, random, zoneinfo
from datetime import date, datetime, time, timedelta, timezone
from pathlib import Path

UTC = timezone.utc
ZONES = ["Europe/Copenhagen", "America/Sao_Paulo", "Australia/Lord_Howe"]
BEGIN, END = datetime(2015, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
MINUTE = timedelta(minutes=1)


def real(local, zone):
    """The instant of a local time: the first of two; the end of the gap for one that does not exist."""
    while True:
        found = []
        for fold in (0, 1):
            instant = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
            if instant.astimezone(zone).replace(tzinfo=None) == local:
                found.append(instant)
        if found:
            return min(found)
        local += MINUTE


def month_day(year, month, day):
    return date(year, month, min(day, calendar.monthrange(year, month)[1]))


def clock(text):
    return time(int(text[:2]), int(text[3:]))


def dates(f, start, local, zone, horizon):
    """All dates of a frequency from start on; local is what the clock shows at start."""
    every, unit = f.get("every", 1), f["unit"]
    at = clock(f["at"]) if "at" in f else local.time()
    if unit == "once":
        yield start
    elif unit in ("minute", "hour"):
        step = timedelta(minutes=every) if unit == "minute" else timedelta(hours=every)
        while "minute" in f and start.astimezone(zone).minute != f["minute"]:
            start += MINUTE
        while start <= horizon:
            yield start
            start += step
    elif unit in ("day", "week"):
        step = every if unit == "day" else 7 * every
        d, first = local.date(), None
        while True:
            if first is None:
                fits = "weekday" not in f or d.weekday() == WEEKDAYS.index(f["weekday"])
                if unit == "week" and "weekday" not in f:
                    fits = d.weekday() == local.weekday()
                if fits and real(datetime.combine(d, at), zone) >= start:
                    first = d
            if first is not None and (d - first).days % step == 0:
                instant = real(datetime.combine(d, at), zone)
                if instant > horizon:
                    return
                yield instant
            d += timedelta(days=1)
    else:
        day = f.get("day", local.day)
        year, month, number, first = local.year, local.month, 0, None
        while True:
            instant = real(datetime.combine(month_day(year, month, day), at), zone)
            if first is None and instant >= start:
                first = number
            if first is not None and (number - first) % every == 0:
                if instant > horizon:
                    return
                yield instant
            number += 1
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)


def read(text, zone):
    """A date or time: its local time, its instant, and the end of the day or minute."""
    if "T" in text:
        local = datetime.fromisoformat(text)
        return local, real(local, zone), real(local, zone) + MINUTE
    local = datetime.fromisoformat(text)
    return local, real(local, zone), real(local + timedelta(days=1), zone)


def all_dates(s, start, horizon):
    zone = zoneinfo.ZoneInfo(s["zone"])
    while start.second:
        start += timedelta(seconds=1)
    anchor, local = start, start.astimezone(zone).replace(tzinfo=None)
    if "from" in s:
        local, anchor, _ = read(s["from"], zone)
    periods = []
    for c in s.get("campaigns", []):
        c_local, c_from, _ = read(c["from"], zone)
        periods.append((c_from, read(c["until"], zone)[2], c, c_local))
    out = [d for d in dates(s, anchor, local, zone, horizon) if not any(a <= d < b for a, b, _, _ in periods)]
    for a, b, c, c_local in periods:
        out += [d for d in dates(c, a, c_local, zone, min(horizon, b)) if d < b]
    out = sorted(d for d in out if d >= start and d <= horizon)
    if "until" in s:
        end = read(s["until"], zone)[2]
        out = [d for d in out if d < end]
    return out[: s["times"]] if "times" in s else out


def random_frequency(r, unit):
    f = {"unit": unit}
    if unit != "once":
        every = {"minute": [1, 5, 7, 30, 90], "hour": [1, 2, 6, 11, 24], "day": [1, 2, 3, 10], "week": [1, 2, 5], "month": [1, 2, 3, 12]}
        f["every"] = r.choice(every[unit])
    if unit == "hour" and r.random() < 0.5:
        f["minute"] = r.randrange(60)
    if unit in ("day", "week", "month") and r.random() < 0.7:
        f["at"] = r.choice(["00:00", "00:30", "01:30", "01:45", "02:00", "02:15", "02:30", "03:00", "23:59",
                            "%02d:%02d" % (r.randrange(24), r.randrange(60))])
    if unit == "week" and r.random() < 0.6:
        f["weekday"] = r.choice(WEEKDAYS)
    if unit == "month" and r.random() < 0.6:
        f["day"] = r.choice([1, 15, 28, 29, 30, 31, 31])
    return f


def random_local(r, first, last, changes=False):
    """A date, or a time: some of them where clocks change."""
    d = first + timedelta(days=r.randrange((last - first).days))
    if r.random() < 0.2:
        d = month_day(d.year, d.month, 31)
    if r.random() < 0.4:
        return d.isoformat()
    if changes and r.random() < 0.3:
        d = r.choice([date(2016, 3, 27), date(2016, 10, 30), date(2016, 10, 16), date(2017, 2, 18), date(2016, 4, 3), date(2016, 10, 2)])
    return "%sT%02d:%02d" % (d.isoformat(), r.choice([0, 1, 2, 2, 23, r.randrange(24)]), r.choice([0, 15, 30, 45, r.randrange(60)]))


def case(r):
    unit = r.choices(["once", "minute", "hour", "day", "week", "month"], [2, 12, 20, 24, 18, 24])[0]
    s = random_frequency(r, unit)
    s["zone"] = r.choice(ZONES)
    start = BEGIN + timedelta(seconds=r.randrange(3 * 365 * 86400))
    step = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}.get(unit)
    horizon = min(END, start + 2000 * s["every"] * step) if step else END
    if r.random() < 0.6:
        s["from"] = random_local(r, date(2015, 1, 1), date(2017, 12, 28), True)
        begin = max(start, read(s["from"], zoneinfo.ZoneInfo(s["zone"]))[1])
        horizon = min(END, begin + 2000 * s["every"] * step) if step else END
    if r.random() < 0.2:
        s["until"] = random_local(r, date(2018, 1, 1), date(2024, 1, 1))
    if r.random() < 0.2:
        s["times"] = r.choice([1, 2, 3, 10, 100])
    if r.random() < 0.25:
        s["campaigns"] = []
        last = date(2018, 1, 2)
        if "until" in s:
            last = date.fromisoformat(s["until"][:10])
        at = date(2017, 12, 30)
        for _ in range(r.randrange(1, 4)):
            at += timedelta(days=r.randrange(3, 120))
            c = random_frequency(r, r.choice(["minute", "hour", "day", "week"]))
            length = {"minute": 2, "hour": 20, "day": 90, "week": 200}[c["unit"]]
            c["from"] = at.isoformat() if r.random() < 0.5 else at.isoformat() + "T%02d:%02d" % (r.randrange(24), r.randrange(60))
            at += timedelta(days=r.randrange(1, length))
            c["until"] = at.isoformat() if r.random() < 0.5 else at.isoformat() + "T%02d:%02d" % (r.randrange(24), r.randrange(60))
            if "until" in s and at >= last:
                break
            if not list(dates(c, *reversed(read(c["from"], zoneinfo.ZoneInfo(s["zone"]))[:2]), zoneinfo.ZoneInfo(s["zone"]),
                              read(c["until"], zoneinfo.ZoneInfo(s["zone"]))[2] - MINUTE)):
                break
            s["campaigns"].append(c)
        if not s["campaigns"]:
            del s["campaigns"]
        if step:
            horizon = min(horizon, END)
    return s, start, horizon


def line(r):
    s, start, horizon = case(r)
    every = all_dates(s, start, horizon)
    text = [d.strftime("%Y-%m-%dT%H:%M") for d in every[:20]]
    for i in (1, 2, 3):  # three dates after each quarter
        after = start + (horizon - start) // 4 * i
        after -= timedelta(microseconds=after.microsecond)
        text += [d.strftime("%Y-%m-%dT%H:%M") for d in every if d > after][:3]
    text += [d.strftime("%Y-%m-%dT%H:%M") for d in every[-3:]]
    digest = hashlib.sha256("\n".join(text).encode()).hexdigest()[:12]
    form = "%Y-%m-%dT%H:%M:%SZ"
    out = {"s": s, "start": start.strftime(form), "horizon": horizon.strftime(form), "count": len(every), "digest": digest}
    return json.dumps(out, separators=(",", ":"))


if __name__ == "__main__":
    r = random.Random(11)
    lines = "".join(line(r) + "\n" for _ in range(10_000))
    Path(__file__).with_name("table.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
