import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  truncateSync,
} from 'node:fs'
import { getPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { EngineStartError } from '../../../src/core/engine/embedded/host-protocol.ts'
import { keyHeader, runtimeDirectoryOf } from '../../../src/core/engine/embedded/server-config.ts'
import type { EmbeddedEngine } from '../../../src/core/engine/embedded-engine.ts'
import { engineCodeOf } from '../../../src/core/engine/engine-errors.ts'
import { embeddedEngine, emulated, openEmbedded } from '../../support/engines.ts'
import { scratchDirectory } from '../../support/scratch.ts'

const limits = { deadlineMs: 60_000 }

/** Long enough for an emulated engine to restart. */
const restart = { timeout: 90_000, interval: 50 }

describe('the guards of the embedded engine', () => {
  let opened: Awaited<ReturnType<typeof openEmbedded>>
  let engine: EmbeddedEngine
  const text = async (sql: string, deadlineMs = 60_000) =>
    (await engine.query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs })).body.toString()
  const readyAgain = (pid: number | undefined) =>
    vi.waitFor(() => {
      expect(engine.pid).not.toBe(pid)
      expect(engine.state().ready).toBe(true)
    }, restart)

  const logged: string[] = []

  beforeAll(async () => {
    const log = pino({ level: 'info' }, { write: (line: string) => logged.push(line) })
    const grants = ['SELECT ON system.*', 'SYSTEM FLUSH LOGS ON *.*']
    opened = await openEmbedded({ patience: emulated ? 4 : 1, log, grants })
    engine = opened.engine
    for (const table of ['guards', '_guards']) {
      await engine.command({ sql: `CREATE TABLE ${table} (a String) ENGINE = MergeTree ORDER BY a` }, limits)
    }
  })
  afterAll(() => opened?.close())

  test('inserts are synced to disk', async () => {
    const names = "'fsync_after_insert', 'fsync_part_directory', 'min_rows_to_fsync_after_merge'"
    expect(
      await text(`SELECT name, value FROM system.merge_tree_settings WHERE name IN (${names}) ORDER BY name`),
    ).toBe('fsync_after_insert\t1\nfsync_part_directory\t1\nmin_rows_to_fsync_after_merge\t1\n')
  })

  test('the memory of the engine is limited', async () => {
    expect(
      await text("SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'"),
    ).toBe(`${2 * 2 ** 30}\n`)
  })

  const notGranted = 497
  const asReader = { ...limits, asReader: true }

  test('SQL of authors and callers cannot reach files, the network, other servers or the tables of the service', async () => {
    const refused = async (sql: string) => {
      const failing = engine.query({ sql, format: 'TabSeparatedRaw' }, asReader)
      await expect(failing, sql).rejects.toSatisfy((error) => engineCodeOf(error) === notGranted)
    }
    expect(
      `${(await engine.query({ sql: 'SELECT count() FROM guards', format: 'TSV' }, asReader)).body}`,
    ).toBe('0\n')
    for (const sql of [
      "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
      "SELECT * FROM remote('127.0.0.1:1', system.one)",
      "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
      "SELECT * FROM executable('id', 'TabSeparated', 'x String')",
      'SELECT * FROM _guards',
      'SELECT * FROM wellhead._guards',
      'SELECT * FROM system.parts',
      'SELECT * FROM system.processes',
      'SELECT * FROM system.users',
      'SELECT * FROM information_schema.tables',
    ]) {
      await refused(sql)
    }
    const names = "SELECT name FROM system.tables WHERE database = 'wellhead' ORDER BY name"
    expect(`${(await engine.query({ sql: names, format: 'TSV' }, asReader)).body}`).toBe('guards\n')
    expect(
      `${(await engine.query({ sql: "SELECT * FROM merge('wellhead', 'guards')", format: 'TSV' }, asReader)).body}`,
    ).toBe('')
  })

  test('the function file is refused, which needs no grant in this server', async () => {
    for (const sql of [
      "SELECT file('/etc/passwd')",
      "SELECT * FROM file('/etc/passwd', 'LineAsString')",
      "SELECT `file`('/etc/passwd')",
      'SELECT "file" /* ( */ (\'/etc/passwd\')',
      "SELECT arrayMap(x -> FILE\n(x), ['/etc/passwd'])",
    ]) {
      const failing = engine.query({ sql, format: 'TabSeparatedRaw' }, asReader)
      await expect(failing, sql).rejects.toMatchObject({ code: 'invalid_query' })
    }
    const sql = "SELECT 'file(1)' AS file, count(file) FROM guards /* file( */"
    await engine.query({ sql, format: 'Null' }, asReader)
  })

  test('SQL of authors and callers cannot write', async () => {
    for (const sql of [
      "INSERT INTO guards VALUES ('x')",
      'CREATE TABLE u (a String) ENGINE = MergeTree ORDER BY a',
      'DROP TABLE guards',
      'SET readonly = 0',
      'SELECT 1 SETTINGS readonly = 0',
      "SELECT 1 INTO OUTFILE '/tmp/wellhead-escape'",
      'SYSTEM STOP LISTEN HTTP',
      "KILL QUERY WHERE query_id = ''",
    ]) {
      const failing = engine.query({ sql, format: 'TabSeparatedRaw' }, asReader)
      await expect(failing, sql).rejects.toMatchObject({ code: 'invalid_query' })
    }
    expect(existsSync('/tmp/wellhead-escape')).toBe(false)
    expect(await text('SELECT count() FROM guards')).toBe('0\n')
  })

  test('the service itself cannot reach files, the network or other servers', async () => {
    for (const sql of [
      "CREATE TABLE u (a String) ENGINE = URL('http://127.0.0.1:1/', 'LineAsString')",
      "CREATE TABLE f (a String) ENGINE = File(LineAsString, '/etc/passwd')",
      "CREATE DICTIONARY d (a UInt64) PRIMARY KEY a SOURCE(HTTP(url 'http://127.0.0.1:1/' format 'TSV')) LAYOUT(FLAT()) LIFETIME(1)",
      "BACKUP DATABASE wellhead TO Disk('default', 'escape')",
      "INSERT INTO FUNCTION file('/tmp/wellhead-escape', 'CSV') SELECT 1",
    ]) {
      await expect(engine.command({ sql }, limits), sql).rejects.toSatisfy(
        (error) => engineCodeOf(error) === notGranted,
      )
    }
    expect(existsSync('/tmp/wellhead-escape')).toBe(false)
  })

  test('nobody else can use the port', async () => {
    const read = (name: string) => readFileSync(join(runtimeDirectoryOf(opened.dataDir), name), 'utf8')
    const key = new RegExp(`<${keyHeader}>(.*?)</`).exec(read('config.xml'))?.[1] as string
    const url = `http://127.0.0.1:${read('port').trim()}`
    expect(listeningPorts(engine.pid as number)).toEqual([`127.0.0.1:${read('port').trim()}`])
    const send = async (sql: string, headers: Record<string, string>, user = 'default') => {
      const response = await fetch(`${url}/?user=${user}`, { method: 'POST', body: sql, headers })
      return [response.status, await response.text()] as const
    }
    for (const headers of [{}, { [keyHeader]: 'wrong' }, { [keyHeader]: '' }]) {
      for (const path of ['/', '/?query=SELECT%201', '/play', '/dashboard', '/metrics', '/replicas_status']) {
        expect([path, (await fetch(`${url}${path}`, { headers })).status]).toEqual([path, 404])
      }
      expect((await send('SYSTEM STOP LISTEN HTTP', headers))[0]).toBe(404)
    }
    // Who knows the key still needs a password, except the user that starts the server.
    expect((await send('SELECT 1', { [keyHeader]: key }, 'wellhead'))[0]).toBe(403)
    expect((await send('SELECT 1', { [keyHeader]: key }, 'reader'))[0]).toBe(403)
    for (const sql of ['SELECT * FROM wellhead.guards', "SELECT * FROM file('/etc/passwd')"]) {
      expect((await send(sql, { [keyHeader]: key }))[1]).toContain('ACCESS_DENIED')
    }
    expect(await text('SELECT 1')).toBe('1\n')
  })

  test('files of the engine that others can read stop its start', async () => {
    const directory = scratchDirectory()
    const files = runtimeDirectoryOf(directory.path)
    mkdirSync(files)
    chmodSync(files, 0o755)
    const second = embeddedEngine(directory.path)
    await expect(second.start()).rejects.toMatchObject({ reason: 'unwritable' })
    expect(readdirSync(files)).toEqual([])
    await second.close()
    rmdirSync(files)
    directory.remove()
  })

  test('the engine writes no log tables', async () => {
    const store = join(opened.dataDir, 'engine', 'store')
    const files = () => readdirSync(store, { recursive: true }).filter((path) => !/^tmp/.test(String(path)))
    const before = files()
    for (let i = 0; i < 10; i++) await text(`SELECT ${i}`)
    await expect(text('SELECT no_such_column')).rejects.toMatchObject({ code: 'invalid_query' })
    await engine.command({ sql: 'SYSTEM FLUSH LOGS' }, limits)
    expect(await text("SELECT name FROM system.tables WHERE database = 'system' AND data_paths != []")).toBe(
      '',
    )
    expect(files()).toEqual(before)
  })

  test('merges collect no statistics of columns, and queries read none', async () => {
    const setting = "SELECT value FROM system.merge_tree_settings WHERE name = 'auto_statistics_types'"
    expect(await text(setting)).toBe('\n')
    expect(await text("SELECT getSetting('use_statistics')")).toBe('false\n')
  })

  test('small queries do not wait until their expressions are compiled', async () => {
    const counts = ['expression', 'aggregate_expression', 'sort_description']
    const settings = counts.map((name) => `getSetting('min_count_to_compile_${name}')`)
    expect(await text(`SELECT ${settings}`)).toBe('20\t20\t20\n')
  })

  test('the engine has no standard input', () => {
    expect(readlinkSync(`/proc/${engine.pid}/fd/0`)).toBe('/dev/null')
  })

  test('every thread of the engine gives way to the service', async () => {
    await text('SELECT count() FROM numbers_mt(10000000) WHERE NOT ignore(number)')
    // A thread may end meanwhile.
    await vi.waitFor(() => {
      const threads = readdirSync(`/proc/${engine.pid}/task`)
      expect(threads.length).toBeGreaterThan(4)
      const others = threads.filter((thread) => getPriority(Number(thread)) !== getPriority() + 10)
      const names = others.map((thread) => readFileSync(`/proc/${engine.pid}/task/${thread}/comm`, 'utf8'))
      // It measures memory, and takes the highest priority where the engine may.
      expect(names.filter((name) => name !== 'MemoryWorker\n')).toEqual([])
    })
  })

  test('a second process reports that the data directory is in use, and does not change it', async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
    const second = embeddedEngine(opened.dataDir, { log })
    await expect(second.start()).rejects.toSatisfy(
      (error) => error instanceof EngineStartError && error.reason === 'in-use',
    )
    await second.close()
    expect(lines.join()).toContain('has it open')
    expect(await text('SELECT 1')).toBe('1\n')
  })

  test('a killed engine restarts with all acknowledged rows; requests fail with 503 meanwhile', async () => {
    // A shared crash counts at most half.
    const blame = [{ key: 'caller:carl', crashes: 1 / 4 }]
    const leaving = new AbortController()
    const forever = 'SELECT sum(cityHash64(number)) FROM numbers(1000000000000)'
    const left = expect(
      engine.query({ sql: forever, format: 'Null' }, { ...limits, blame, signal: leaving.signal }),
    ).rejects.toMatchObject({ code: 'query_cancelled' })
    const row = Buffer.from('{"a":"kept"}\n')
    await engine.insert({ table: 'guards', format: 'JSONEachRow' }, row, limits)
    const pid = engine.pid as number
    const running = expect(
      text('SELECT sum(sipHash64(number)) FROM numbers(1000000000000)'),
    ).rejects.toMatchObject({
      code: 'engine_unavailable',
      status: 503,
      retryAfterSeconds: 1,
    })
    await vi.waitFor(
      async () => expect(await text('SELECT count() > 1 FROM system.processes')).toBe('1\n'),
      restart,
    )
    leaving.abort()
    await left
    process.kill(pid, 'SIGKILL')
    await running
    // Requests wait briefly, which is long enough for a native engine on a machine that is not busy.
    const meanwhile = await text('SELECT 1').catch((error: unknown) => error)
    if (meanwhile !== '1\n') {
      expect(meanwhile).toMatchObject({ code: 'engine_unavailable', status: 503 })
    }
    await readyAgain(pid)
    expect(await text("SELECT count() FROM guards WHERE a = 'kept'")).toBe('1\n')
    // A caller that left just before may have sent the query that crashed the engine.
    const again = engine.query({ sql: 'SELECT 2', format: 'Null' }, { ...limits, blame })
    await expect(again).rejects.toMatchObject({ code: 'rate_limited' })
  })

  // Under emulation a restart takes half a minute, and the emulator may ignore SIGSEGV.
  test.each(emulated ? (['SIGSTOP'] as const) : (['SIGSTOP', 'SIGSEGV'] as const))(
    'an engine that hangs after %s is killed and restarted',
    async (signal) => {
      const pid = engine.pid as number
      process.kill(pid, signal)
      await readyAgain(pid)
      expect(await text('SELECT 1')).toBe('1\n')
    },
  )

  // A single function call on a single value, in which the engine never checks the time limit.
  const stubborn = (text = 'secret') =>
    `SELECT levenshteinDistance(repeat('${text}', 10000), repeat('${[...text].reverse().join('')}', 10000))`

  test('a query that ignores its time limit ends the engine process, not the service', async () => {
    const pid = engine.pid as number
    const blame = [{ key: 'caller:anna', crashes: 1 }]
    const asAnna = (sql: string) =>
      engine
        .query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs: 200, blame })
        .then(({ body }) => `${body}`)
    await expect(asAnna(stubborn())).rejects.toMatchObject({ code: 'query_timeout', status: 504 })
    await readyAgain(pid)
    expect(await text('SELECT 1')).toBe('1\n')
    await expect(asAnna('SELECT 1')).rejects.toMatchObject({
      code: 'rate_limited',
      status: 429,
      retryAfterSeconds: expect.toSatisfy((seconds: number) => seconds > 0 && seconds <= 300),
    })
    const refusals = logged.filter((line) => line.includes('"refused"'))
    expect(refusals.join()).toContain('caller:anna')
    expect(logged.join()).not.toMatch(/secret|levenshtein/i)
  })

  test('a query that is late because the engine got no processor time neither ends the engine nor is blamed', async () => {
    const pid = engine.pid as number
    const blame = [{ key: 'caller:dora', crashes: 1 / 4 }]
    const asDora = (sql: string, deadlineMs: number) =>
      engine.query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs, blame })
    process.kill(pid, 'SIGSTOP')
    await expect(
      asDora('SELECT sum(cityHash64(number)) FROM numbers(1000000000000)', 50).finally(() =>
        process.kill(pid, 'SIGCONT'),
      ),
    ).rejects.toMatchObject({ code: 'query_timeout', status: 504 })
    const running = "SELECT count() FROM system.processes WHERE query LIKE '%cityHash64(number)%'"
    await vi.waitFor(async () => expect(await text(running)).toBe('1\n'), restart)
    expect(`${(await asDora('SELECT 1', 60_000)).body}`).toBe('1\n')
    expect(engine.pid).toBe(pid)
  })

  test('a query that runs on after its caller left ends the engine at its time limit, and the caller is blamed', async () => {
    const pid = engine.pid as number
    const blame = [{ key: 'caller:bert', crashes: 1 }]
    const leaving = new AbortController()
    const statement = { sql: stubborn('hidden'), format: 'TabSeparatedRaw' }
    const asked = engine.query(statement, { deadlineMs: 2_000, blame, signal: leaving.signal })
    const cancelled = expect(asked).rejects.toMatchObject({ code: 'query_cancelled' })
    await vi.waitFor(
      async () => expect(await text('SELECT count() > 1 FROM system.processes')).toBe('1\n'),
      restart,
    )
    leaving.abort()
    await cancelled
    await readyAgain(pid)
    const again = engine.query({ sql: 'SELECT 2', format: 'Null' }, { deadlineMs: 60_000, blame })
    await expect(again).rejects.toMatchObject({ code: 'rate_limited' })
  })
})

/** Ports on which a process listens, from /proc. */
function listeningPorts(pid: number): string[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`)
      } catch {
        return ''
      }
    }),
  )
  const listening = '0A'
  return ['tcp', 'tcp6']
    .flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === listening && sockets.has(`socket:[${fields[9]}]`))
    .map((fields) => {
      const [address = '', port = ''] = (fields[1] as string).split(':')
      const host = [...Buffer.from(address, 'hex')].reverse().join('.')
      return `${host}:${Number.parseInt(port, 16)}`
    })
}

/** More than the engine accepts by default. */
const brokenParts = 110

describe('after a power cut or on a full disk', () => {
  // The engine syncs the rows of a merged part, but not its index of words.
  test('merged parts without the content of their index are replaced by what they were merged from, or lose the index', async () => {
    const { engine, dataDir, close } = await openEmbedded()
    const command = (sql: string) =>
      engine.command({ sql, settings: { max_partitions_per_insert_block: 0 } }, limits)
    const index = "INDEX words text TYPE text(tokenizer = 'splitByNonAlpha')"
    await command(
      `CREATE TABLE cut (n Int64, text String, ${index}) ENGINE = MergeTree ORDER BY n PARTITION BY n`,
    )
    for (const text of ['one', 'two']) {
      await command(`INSERT INTO cut SELECT number, '${text}' FROM numbers(${brokenParts})`)
    }
    await command('OPTIMIZE TABLE cut FINAL')
    // As after a full disk, once the engine has removed what it merged.
    await command(`CREATE TABLE full (text String, ${index.replace('words', '_text')}) ORDER BY text`)
    for (const text of ['one', 'two']) await command(`INSERT INTO full VALUES ('${text}')`)
    await command('OPTIMIZE TABLE full FINAL')
    await engine.close()

    const tables = join(dataDir, 'engine', 'store', 'data', 'wellhead')
    const ofMerges = readdirSync(join(tables, 'cut'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      /_1\/skp_idx_words/.test(path),
    )
    expect(new Set(ofMerges.map((path) => dirname(path))).size).toBe(brokenParts)
    for (const path of ofMerges) truncateSync(join(tables, 'cut', path))
    for (const part of ['all_1_1_0', 'all_2_2_0']) rmSync(join(tables, 'full', part), { recursive: true })
    const merged = join(tables, 'full', 'all_1_2_1')
    const indexed = readdirSync(merged).filter((file) => file.startsWith('skp_idx__text'))
    for (const file of indexed) truncateSync(join(merged, file))

    const again = embeddedEngine(dataDir)
    await again.start()
    for (const [table, rows] of Object.entries({ cut: brokenParts, full: 1 })) {
      const sql = `SELECT count(), countIf(text = 'two') FROM ${table} WHERE text IN ('one', 'two')`
      const { body } = await again.query({ sql, format: 'TSV' }, limits)
      expect(`${body}`).toBe(`${rows * 2}\t${rows}\n`)
    }
    // The next merge has the index again.
    await again.command({ sql: "INSERT INTO full VALUES ('three')" }, limits)
    await again.command({ sql: 'OPTIMIZE TABLE full FINAL' }, limits)
    expect(readdirSync(join(tables, 'full', 'all_1_3_2'))).toEqual(expect.arrayContaining(indexed))
    await again.close()
    await close()
  })
})
