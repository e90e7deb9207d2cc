import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { type CommandChoices, runCommand, startCommand } from '../../../support/command.ts'
import { scratchDirectory } from '../../../support/scratch.ts'

export interface LocalService {
  url: string
  token: string
  dataDir: string
}

export async function createSource({ url, token }: LocalService, name: string): Promise<void> {
  const response = await fetch(`${url}/api/sources`, {
    method: 'POST',
    headers: { 'X-API-KEY': token, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name }),
  })
  expect(response.status).toBe(201)
}

/** Runs commands against a service that they find by its data directory. */
const withoutProject = (count: number) =>
  `Warning: ${count} entries have no project, so no tenant can see them. ` +
  'Send a field project, or name its path: wellhead source update cli_logs --project customer.id\n'

export function cliJourneys(service: () => LocalService): void {
  const files = scratchDirectory()
  afterAll(() => files.remove())

  const environment = () => ({ WELLHEAD_DATA_DIR: service().dataDir })
  const run = (args: string[], choices: CommandChoices = {}) =>
    runCommand(args, {
      cwd: files.path,
      ...choices,
      environment: { ...environment(), ...choices.environment },
    })
  /** In a process of its own, for input, output and exit codes of a real one. */
  const runAlone = (args: string[], input?: string | Buffer) =>
    startCommand(args, { cwd: files.path, environment: environment(), ...(input && { input }) }).result
  const data = async <T>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await run([...args, '--json'])
    expect(stderr).not.toContain('wellhead:')
    expect(code).toBe(0)
    return JSON.parse(stdout) as T
  }
  const get = async <T>(path: string): Promise<T> =>
    (await fetch(service().url + path, { headers: { 'X-API-KEY': service().token } })).json() as Promise<T>
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(join(files.path, name), content)
    return name
  }

  describe('the commands', () => {
    test('creates, uses, lists, rotates and revokes a token', async () => {
      const made = await run([
        ...['token', 'create', '--scope', 'query', '--scope', 'ingest:edge_logs', '--project', 'acme'],
        ...['--parameter', 'project_tier=PRO', '--expires', '30d', '--requests-per-minute', '600'],
        ...['--description', 'dashboards'],
      ])
      expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^wh_\w{38}\n$/)])
      const [token] = (await data<{ id: string; description: string }[]>('token', 'list')).filter(
        ({ description }) => description === 'dashboards',
      )
      expect(token).toMatchObject({
        scopes: ['query', 'ingest:edge_logs'],
        project: 'acme',
        parameters: { project_tier: 'PRO' },
        requests_per_minute: 600,
        expires_at: expect.stringMatching(/Z$/),
      })
      expect((await run(['token', 'list'])).stdout).toMatch(/dashboards .* admin token$/m)
      const as = { WELLHEAD_TOKEN: made.stdout.trim(), WELLHEAD_URL: service().url }
      expect(await run(['endpoint', 'run', 'logs.all'], { environment: as })).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^\{"result":/),
        stderr: expect.stringMatching(/^\d+ rows?, \d+ ms, not cached\n$/),
      })
      expect(await run(['token', 'list'], { environment: as })).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^wellhead: .*\(forbidden, request [\w-]+\)\n$/),
      })
      const id = token?.id as string
      const update = (...flags: string[]) => run(['token', 'update', id, ...flags])
      expect(
        await data(
          ...['token', 'update', id, '--scope', 'query', '--no-project', '--expires', 'never'],
          ...[
            '--parameter',
            'limit=5',
            '--remove-parameter',
            'project_tier',
            '--requests-per-minute',
            'none',
          ],
        ),
      ).toMatchObject({
        ...{ id, scopes: ['query'], project: null, parameters: { limit: '5' }, description: 'dashboards' },
        ...{ expires_at: null, requests_per_minute: null },
      })
      expect((await update('--expires', '1d', '--description', 'boards')).stdout).toMatch(
        /^description +boards\n(.*\n)*parameters +limit=5\nexpires_at +\d{4}-.*Z\n/m,
      )
      expect(await update()).toMatchObject({ code: 2, stderr: expect.stringContaining('nothing to change') })
      expect(await update('--expires', 'soon')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('It must be a time such as 30d, 12h'),
      })
      expect(await update('--remove-parameter', 'nope')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('does not set the parameter nope'),
      })
      expect((await update('--scope', 'everything')).stderr).toContain('(invalid_parameter')
      expect((await run(['token', 'update', randomUUID(), '--no-project'])).stderr).toContain(
        'No access token has the id',
      )
      expect(await run(['token', 'update', id, '--scope', 'admin'], { environment: as })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('(forbidden'),
      })
      const rotated = await run(['token', 'rotate', id, '--overlap', '0'])
      expect(rotated.stdout).toMatch(/^wh_\w{38}\n$/)
      expect((await run(['token', 'revoke', id])).code).toBe(2)
      expect(await run(['token', 'revoke', id, '--yes'])).toMatchObject({
        code: 0,
        stderr: `Revoked ${id}.\n`,
      })
      expect(
        (await run(['endpoint', 'list'], { environment: { WELLHEAD_TOKEN: rotated.stdout.trim() } })).stderr,
      ).toContain('(unauthorized')
    })

    test('shows, runs, restores and deletes an endpoint', async () => {
      const query =
        "SELECT number AS n, concat('a,', toString(number)) AS t, 1767225600123456 AS big, " +
        "fromUnixTimestamp64Micro(1767225600123456, 'UTC') AS at FROM numbers(3) WHERE number < @most"
      const put = (body: object, method = 'POST', path = '/api/endpoints') =>
        fetch(service().url + path, {
          method,
          headers: { 'X-API-KEY': service().token, 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        })
      const declared = { parameters: { most: { required: true, type: 'integer' } }, cache_seconds: 3600 }
      expect((await put({ name: 'cli.numbers', query, ...declared })).status).toBe(201)
      expect((await put({ description: 'second' }, 'PATCH', '/api/endpoints/cli.numbers')).status).toBe(200)
      const call = ['endpoint', 'run', 'cli.numbers', 'most=2']
      const form = async (...more: string[]) => (await run([...call, ...more])).stdout
      expect(JSON.parse(await form())).toEqual({
        result: [
          { n: 0, t: 'a,0', big: 1767225600123456, at: '2026-01-01T00:00:00.123456Z' },
          { n: 1, t: 'a,1', big: 1767225600123456, at: '2026-01-01T00:00:00.123456Z' },
        ],
      })
      expect(await form('--format', 'csv')).toMatch(
        /^"n","t","big","at"\n0,"a,0",1767225600123456,"2026-01-01T00:00:00.123456Z"\n/,
      )
      expect(await form('--format', 'table')).toBe(
        'n  t                 big  at\n' +
          '0  a,0  1767225600123456  2026-01-01T00:00:00.123456Z\n' +
          '1  a,1  1767225600123456  2026-01-01T00:00:00.123456Z\n',
      )
      expect((await run([...call, 'mosst=1'])).stderr).toMatch(
        /Unknown parameter "mosst".*most.*\(invalid_parameter/,
      )
      expect((await run([...call, 'mosst=1', '--lenient'])).code).toBe(0)
      expect(await form('--format', 'parquet', '--output', 'out.parquet')).toBe('')
      expect((await run(call)).stderr).toMatch(/^2 rows, \d+ ms, from the cache, \d+[sm] old\n$/)
      expect((await run([...call, '--fresh'])).stderr).toMatch(/computed\n$/)
      expect((await run([...call, '--explain'])).stdout).toMatch(/^\{/)
      expect(await run(['endpoint', 'run', 'cli.numbers'])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^wellhead: Parameter "most" is required\. \(missing_parameter, parameter most, request /,
        ),
      })
      expect((await run(['endpoint', 'show', 'cli.numbers', '--version', '1', '--sql'])).stdout).toBe(
        `${query}\n`,
      )
      expect(await data('endpoint', 'versions', 'cli.numbers')).toMatchObject([
        { version: 2 },
        { version: 1 },
      ])
      const { stdout: versions } = await run(['endpoint', 'versions', 'cli.numbers'])
      expect(versions).toMatch(/^ *2 +\S+ +admin token +cli\.numbers/m)
      expect((await run(['endpoint', 'list'])).stdout).toMatch(/^cli\.numbers +2 +1h/m)
      const rollback = (...more: string[]) => run(['endpoint', 'rollback', 'cli.numbers', ...more])
      expect((await rollback()).stdout).toBe('Restored version 1 of cli.numbers as version 3.\n')
      expect((await put({ max_rows: 5 }, 'PATCH', '/api/endpoints/cli.numbers?breaking=true')).status).toBe(
        200,
      )
      expect((await put({ max_rows: 9 }, 'PATCH', '/api/endpoints/cli.numbers')).status).toBe(200)
      expect((await rollback('4')).stderr).toMatch(/Use --breaking.*\(breaking_change.*\n {2}breaking {2}/)
      expect(await rollback('4', '--breaking', '--note', 'Too many', '--json')).toMatchObject({
        ...{ code: 0, stdout: expect.stringContaining('"restored": 4') },
      })
      expect((await rollback('99')).stderr).toContain('cli.numbers has no version 99.')
      expect(await data('endpoint', 'versions', 'cli.numbers')).toMatchObject([
        { version: 6, note: 'Too many', max_rows: 5 },
        { version: 5, max_rows: 9 },
        { version: 4 },
        { version: 3, note: 'Rollback to version 1', description: '' },
        ...[{ version: 2, description: 'second' }, { version: 1 }],
      ])
      expect((await run(['endpoint', 'rollback', 'logs.all'])).stderr).toBe(
        'wellhead: logs.all has no older version.\n',
      )
      expect((await put({}, 'DELETE', '/api/endpoints/cli.numbers')).status).toBe(204)
      expect((await run(call)).stderr).toContain('(endpoint_not_found')
    })

    test('runs SQL from an argument, a file and standard input', async () => {
      const query = "SELECT number AS n, concat('a,', @word) AS t FROM numbers(3) WHERE number < @most"
      const values = ['-p', 'most=2', '-p', 'word=x=y']
      const first = await run(['sql', query, ...values])
      expect(JSON.parse(first.stdout).result).toEqual([
        { n: 0, t: 'a,x=y' },
        { n: 1, t: 'a,x=y' },
      ])
      expect([first.code, first.stderr]).toEqual([0, expect.stringMatching(/^2 rows, \d+ ms, not cached\n$/)])
      const named = file('question.sql', `/* a header */\n${query}`)
      expect((await run(['sql', '--file', named, ...values, '--format', 'csv'])).stdout).toBe(
        '"n","t"\n0,"a,x=y"\n1,"a,x=y"\n',
      )
      const piped = { input: "SELECT 'a' AS x, @digits AS y, @none AS z" }
      const cut = ['--max-rows', '1', '--format', 'table', '-p', 'digits="2"', '-p', 'none=null']
      expect(await run(['sql', ...cut], piped)).toMatchObject({ code: 0, stdout: 'x  y  z\na  2\n' })
      expect(await run(['sql', '-', '--output', 'rows.parquet', '--format', 'parquet'], piped)).toMatchObject(
        {
          code: 1,
          stderr: expect.stringContaining('Parameters "digits", "none" are required.'),
        },
      )
      expect(existsSync(join(files.path, 'rows.parquet'))).toBe(false)
      expect((await run(['sql', 'SELECT 1 AS x', '--output', 'no/rows.json'])).stderr).toMatch(
        /^wellhead: ENOENT: no such file or directory, open '.*no\/rows\.json'\n$/,
      )
      const many = await run(['sql', 'SELECT number AS n FROM numbers(9)', '--max-rows', '4'])
      expect(many.stderr).toMatch(/^4 rows, .*, truncated at the maximum number of rows\n$/)
    })

    test('shows where SQL is wrong', async () => {
      const wrong = await runAlone(['sql', 'SELECT id,\n  nothing_like_it\nFROM edge_logs'])
      expect([wrong.code, wrong.stdout]).toEqual([1, ''])
      expect(wrong.stderr).toMatch(/^wellhead: .*\(invalid_query, line 2, column 3, request [\w-]+\)\n$/)
      const typo = await run(['sql', 'SELECT @word AS w', '-p', 'wrd=x'])
      expect(typo.stderr).toContain('Did you mean word? (invalid_parameter, parameter wrd')
      expect((await run(['sql', 'SELECT 1', '--file', 'question.sql'])).code).toBe(2)
      expect((await run(['sql', '--file', 'missing.sql'])).stderr).toMatch(
        /^wellhead: ENOENT: .*missing\.sql'\n$/,
      )
      expect((await runAlone(['sql'], Buffer.from([0xff]))).stderr).toContain('not valid UTF-8')
    })

    test('sends entries from lines and gzip, and reports rejected entries with their line', async () => {
      await createSource(service(), 'cli_logs')
      const update = (...flags: string[]) => data('source', 'update', 'cli_logs', ...flags)
      const typed = ['--column', 'size=item.size,searched', '--column', 'n=item.n']
      const retention = ['--retention', '20d', ...typed]
      expect(await run(['source', 'update', 'cli_logs', ...retention])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^wellhead: A change would affect projects, so nothing was changed\. Use --breaking to change it anyway\. \(breaking_change, .*\)\n {2}breaking {2}retention_days 90 → 20; no entries are hidden now, and later ones are hidden sooner than before\n$/,
        ),
      })
      expect(await update(...retention, '--breaking')).toMatchObject({ retention_days: 20 })
      expect(await update('--column', 'n=item.n,number', '--remove-column', 'size')).toMatchObject({
        retention_days: 20,
        columns: [{ name: 'n', path: 'item.n', type: 'number', searched: false }],
      })
      expect(await update('--published')).toMatchObject({ published: true, retention_days: 20 })
      expect(await update('--project', 'customer.id')).toMatchObject({ published: true })
      expect(await update('--no-published')).toMatchObject({ published: false, project: 'customer.id' })
      expect(await run(['source', 'update', 'cli_logs', '--remove-column', 'size'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('cli_logs has no typed column size.'),
      })
      const lines = file(
        'lines.ndjson',
        '{"message":"one"}\n\nno json\n{"message":"two","timestamp":"never"}\n',
      )
      const packed = file('packed.ndjson.gz', gzipSync('{"message":"three"}\n{"message":"four"}\n'))
      const sent = await run(['logs', 'send', lines, packed, '-', '--source', 'cli_logs', '--json'], {
        input: '{"message":"five"}',
      })
      expect(sent.code).toBe(1)
      expect(JSON.parse(sent.stdout)).toMatchObject({
        source: 'cli_logs',
        batches: 3,
        accepted: 4,
        rejected: 2,
      })
      expect(sent.stderr).toMatch(
        /^lines\.ndjson:3: the line is not valid JSON\nlines\.ndjson:4: .*timestamp/,
      )
      expect(sent.stderr).toContain('4 entries stored in cli_logs, 2 entries rejected.')
      const array = file('array.json', '[{"message":"three"}]')
      expect(await run(['logs', 'send', array, '--source', 'cli_logs'])).toMatchObject({
        code: 1,
        stderr: "wellhead: array.json is one JSON document. Send its entries as lines: jq -c '.[]'\n",
      })
      const send = ['logs', 'send', packed, '--source', 'cli_logs']
      expect(await run(send)).toMatchObject({
        code: 0,
        stderr:
          '2 entries were already stored in cli_logs. Use --again to store the same entries twice.\n' +
          withoutProject(2),
      })
      expect(JSON.parse((await run([...send, '--json'])).stdout)).toMatchObject({
        accepted: 2,
        already_stored: 2,
      })
      expect((await run([...send, '--again'])).stderr).toBe(
        `2 entries stored in cli_logs.\n${withoutProject(2)}`,
      )
      expect(await run(['logs', 'send', packed, '--source', 'no_such_source'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('(source_not_found'),
      })
    })

    test('sending again after a kill stores everything, and nothing twice', async () => {
      const total = 600
      // Without ids, only the keys of the batches prevent duplicates.
      const entries = Array.from({ length: total }, (_, n) => JSON.stringify({ message: `kept ${n}` }))
      const send = ['logs', 'send', '-', '--source', 'cli_logs', '--batch-entries', '40']
      const stored = async () =>
        (await get<{ event_message: string }[]>('/api/sources/cli_logs/recent?limit=1000'))
          .map(({ event_message }) => event_message)
          .filter((message) => message.startsWith('kept'))
      const half = new PassThrough()
      half.write(entries.slice(0, total / 2).join('\n'))
      const first = startCommand(send, { cwd: files.path, environment: environment(), input: half })
      await vi.waitFor(async () => expect((await stored()).length).toBeGreaterThanOrEqual(40), {
        interval: 20,
      })
      first.child.kill('SIGKILL')
      expect((await first.result).signal).toBe('SIGKILL')
      expect((await stored()).length).toBeLessThan(total)
      const again = await run(send, { input: entries.join('\n') })
      const [, fresh, before] =
        /^(\d+) entries stored in cli_logs, (\d+) entries were already stored\.\nWarning: \d+ entries have no project/.exec(
          again.stderr,
        ) ?? []
      expect([again.code, Number(fresh) + Number(before)]).toEqual([0, total])
      const found = await stored()
      expect([found.length, new Set(found).size]).toEqual([total, total])
      expect((await run(['source', 'delete', 'cli_logs', '--yes'])).code).toBe(0)
    })

    test('doctor checks the running service and its engine', async () => {
      const { port } = new URL(service().url)
      const { code, stdout, stderr } = await runAlone(['doctor', '--port', port, '--json'])
      const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] }
      expect(stderr).toBe('')
      const find = (name: string) => checks.find((check) => check.name === name)
      expect(find('engine')).toMatchObject({ status: 'ok', message: expect.stringContaining(service().url) })
      expect(find('engine')?.message).toMatch(/^ClickHouse \d+\.\d+.*, the embedded server, /)
      expect([find('port')?.status, find('clock')?.status, find('admin token')?.status]).toEqual([
        'ok',
        'ok',
        'ok',
      ])
      expect(checks.filter(({ status }) => status === 'problem')).toEqual([])
      expect(code).toBe(0)
    })

    test('doctor starts an embedded server where no service runs', async () => {
      const { stdout } = await runAlone(['doctor', '--port', '0', '--data-dir', join(files.path, 'new')])
      expect(stdout).toMatch(/^ok +engine +ClickHouse \d+\.\d+.*, the embedded server; it starts$/m)
    })
  })
}
