#!/usr/bin/env python3
"""Compares the attributes of events with those that `perf stat -vv` shows, or that vendors' tables have.

compare_events.py PRINT_EVENTS                              what perf lists on this host; of its
                                                            tracepoints one in TRACEPOINTS (1)
compare_events.py PRINT_EVENTS TREE [CPUID MODEL [TABLES]]  over a tree, as this CPU
compare_events.py PRINT_EVENTS TREE - MODEL TABLES          with the encodings of the tables, without perf

TREE is a directory that perf takes for /sys; CPUID the name by which perf chooses its tables of vendors' events, MODEL
libpfm4's name of the same CPU. TABLES is a directory with these tables as JSON, as in the kernel's
tools/perf/pmu-events/arch: then each event of a core is also compared by its terms. Without perf, encodings are put
into attributes here, by the tree's formats.

Lines `names NR same NR`, `terms NR same NR`, and for each other event `name: theirs | ours`.
"""
import glob
import json
import os
import re
import subprocess
import sys

# perf sets exclude_guest by default up to 6.12; other fields are perf stat's own.
FIELDS = ['type', 'config', 'config1', 'config2', 'bp_type', 'exclude_user', 'exclude_kernel', 'exclude_hv',
          'exclude_idle', 'exclude_host', 'precise_ip', 'pinned', 'exclusive']
# Measured by perf itself, and static probes, which Stook names otherwise.
NOT_EVENTS = re.compile(r'^(duration_time|user_time|system_time|sdt_.*)$')
CHUNK = 100

program, tree, cpuid, model, tables = (sys.argv[1:] + [None] * 5)[:5]
environment = dict(os.environ, LIBPFM_ENCODE_INACTIVE='1')
options = ['-t', '/sys/kernel/tracing']
if tree:
    environment['SYSFS_PATH'] = tree
    environment['PERF_CPUID'] = cpuid or 'none-1-1-1'
    options = ['-r', tree + '/bus/event_source/devices', '-m', model or '']


def listed():
    """The names of perf list, without the tracepoints of this host if there is a tree."""
    text = subprocess.run(['perf', 'list', '--no-desc'], env=environment, capture_output=True, text=True).stdout
    names = []
    for line in text.split('\nMetric')[0].splitlines():
        match = re.match(r'^  (\S.*?)\s+\[(.*)\]$', line)
        if match and not re.search('descriptor|breakpoint', match.group(2)):
            names += match.group(1).split(' OR ')
    names = [name for name in dict.fromkeys(names) if not NOT_EVENTS.match(name)]
    tracepoints = [] if tree else [name for name in names if ':' in name]
    return [name for name in names if ':' not in name] + tracepoints[::int(os.environ.get('TRACEPOINTS', '1'))]


def of(fields):
    return {name: fields[name] for name in FIELDS if fields.get(name)}


def ask_perf(names):
    """The attributes that perf opens, in its order; None if it refuses a name."""
    command = ['perf', 'stat', '-vv'] + [word for name in names for word in ('-e', name)] + ['true']
    text = subprocess.run(command, env=environment, capture_output=True, text=True).stderr
    if re.search('event syntax error|Cannot find', text):
        return None
    return [of({m.group(2) or m.group(3): int(m.group(4), 0)
                for m in re.finditer(r'^  (\{ bp_\w+, (\w+) \}|(\w+)) +(0x[0-9a-f]+|\d+)$', block, re.M)})
            for block in re.findall(r'^perf_event_attr:\n((?:  .*\n)+)', text, re.M)]


def theirs(names):
    """perf tries again without some fields, and in AMD's tables are events that it opens on several CPUs: alone."""
    answers = {}
    is_amd = bool(tree and glob.glob(tree + '/bus/event_source/devices/amd_*'))

    def ask(some):
        blocks = ask_perf(some)
        if blocks is not None and len(blocks) == len(some) and len(some) > 1:
            answers.update((name, [block]) for name, block in zip(some, blocks))
        elif len(some) == 1:
            answers[some[0]] = [block for i, block in enumerate(blocks or []) if block not in blocks[:i]]
        else:
            ask(some[:len(some) // 2])
            ask(some[len(some) // 2:])

    alone = [name for name in names if is_amd or '/' in name]
    rest = [name for name in names if name not in set(alone)]
    for i in range(0, len(rest), CHUNK):
        ask(rest[i:i + CHUNK])
    for name in alone:
        ask([name])
    return answers


def ours(names):
    text = subprocess.run([program] + options, input='\n'.join(names) + '\n', env=environment,
                          capture_output=True, text=True, check=True).stdout
    answers = {}
    for line in text.splitlines():
        name, fields = line.split('\t', 1)
        if fields.startswith('error:'):
            answers[name] = fields
        else:
            answers.setdefault(name, []).append(
                of({key: int(value, 0) for key, value in re.findall(r'(\w+)=(0x[0-9a-f]+)', fields)}))
    return answers


def terms(event):
    """The PMU of an event in a table, and its terms, as perf's jevents makes them."""
    words = ['event=%#x' % (int(event.get('EventCode', '0').split(',')[0], 0) | int(event.get('ExtSel', '0'), 0) << 8)]
    for key, name in (('AnyThread', 'any'), ('CounterMask', 'cmask'), ('EdgeDetect', 'edge'), ('Invert', 'inv'),
                      ('SampleAfterValue', 'period'), ('UMask', 'umask')):
        if int(event.get(key, '0').split(',')[0], 0):
            words.append('%s=%s' % (name, event[key]))
    words = {'inst_retired.any': ['event=0xc0'], 'cpu_clk_unhalted.thread': ['event=0x3c'],
             'cpu_clk_unhalted.core': ['event=0x3c'], 'cpu_clk_unhalted.thread_any': ['event=0x3c', 'any=1'],
             'inst_retired.any_p': ['event=0xc0'],
             'cpu_clk_unhalted.ref': ['event=0', 'umask=3']}.get(event['EventName'].lower(), words)
    registers = {0x3f6: 'ldlat', 0x1a6: 'offcore_rsp', 0x1a7: 'offcore_rsp', 0x3f7: 'frontend'}
    register = registers.get(int(event.get('MSRIndex', '0').split(',')[0], 0))
    if register and event.get('MSRValue'):
        words.append('%s=%s' % (register, event['MSRValue']))
    return event.get('Unit', 'cpu'), words


def table():
    """The events of cores in the tables, by name: PMU and terms. Arm's refer to a list that all models share."""
    def read(pattern):
        return [event for path in glob.glob(pattern) for event in json.load(open(path, encoding='utf-8'))]

    shared = {event['EventName']: event for path in ('/..', '/../..') for event in read(tables + path + '/*.json')
              if 'EventName' in event}
    found = {}
    for event in read(tables + '/*.json'):
        event = dict(shared.get(event.get('ArchStdEvent'), {}), **event)
        if 'EventName' in event and event.get('Unit', 'cpu') in ('cpu', 'cpu_core', 'cpu_atom'):
            found[event['EventName'].lower(), event.get('Unit')] = terms(event)
    return {name: found[name, unit] for name, unit in found}


def encoded(pmu, words):
    """The attributes of an event: each term's value in the bits that the PMU's format says."""
    attr = {'type': int(read_sysfs(pmu, 'type'))}
    for word in words:
        key, value = word.split('=')
        if key == 'period':
            continue
        field, bits = read_sysfs(pmu, 'format/' + key).split(':')
        number = int(value, 0)
        for part in bits.split(','):
            low, high = [int(bit) for bit in (part + '-' + part).split('-')[:2]]
            attr[field] = attr.get(field, 0) | (number & ((1 << (high - low + 1)) - 1)) << low
            number >>= high - low + 1
    return of(attr)


def read_sysfs(pmu, name):
    with open('%s/bus/event_source/devices/%s/%s' % (tree, pmu, name), encoding='utf-8') as file:
        return file.read().strip()


def compare_tables():
    """Each event of the tables by its terms, and by its name, with the tables' encodings."""
    core = 'cpu' if os.path.exists(tree + '/bus/event_source/devices/cpu') else None
    by_name, by_terms, wanted = {}, {}, {}
    for name, (pmu, words) in table().items():
        pmu = pmu if pmu != 'cpu' else core or os.path.basename(
            (glob.glob(tree + '/bus/event_source/devices/armv8_pmuv3*') or [tree + '/cpu_core'])[0])
        by_name[name] = name
        by_terms[name] = '%s/%s/' % (pmu, ','.join(words))
        wanted[name] = [encoded(pmu, words)]
    compare('terms', by_terms, wanted)
    compare('names', by_name, wanted)


def compare(what, texts, wanted):
    """texts: by name, what we parse for it."""
    got = ours(list(dict.fromkeys(texts.values())))
    same = 0
    others = []
    for name, text in texts.items():
        answer = got.get(text)
        want = wanted[name]
        if isinstance(answer, list) and what == 'terms': # of one PMU; the name may be on others, too
            want = [attr for attr in want if attr.get('type') == answer[0].get('type')]
        if want and answer == want:
            same += 1
        else:
            others.append((name, text, want, answer))
    print(what, len(texts), 'same', same)
    for name, text, want, answer in others:
        print('%s: %s | %s' % (text if what == 'names' else name + ' ' + text, want, answer))


if cpuid == '-':
    compare_tables()
    sys.exit()
names = listed()
wanted = theirs(names)
compare('names', {name: name for name in names}, wanted)
if tables:
    found = {name: '%s/%s/' % (pmu, ','.join(words)) for name, (pmu, words) in table().items() if pmu != 'cpu_atom'}
    compare('terms', {name: found[name] for name in names if name in found and wanted[name]}, wanted)
