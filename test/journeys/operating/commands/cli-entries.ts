import { describe, expect, test, vi } from 'vitest'
import { type CommandChoices, runCommand, startCommand } from '../../../support/command.ts'
import { createSource, type LocalService } from './cli.ts'

/** Searches and tails entries with commands. */
export function logCommandJourneys(service: () => LocalService): void {
  const environment = () => ({ WELLHEAD_DATA_DIR: service().dataDir })
  const run = (args: readonly string[], choices: CommandChoices = {}) =>
    runCommand(args, { ...choices, environment: { ...environment(), ...choices.environment } })
  const idsOf = (lines: string) =>
    lines
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).id as string)
  const source = 'cli_search'

  describe('the commands of entries', () => {
    test('searches and tails entries by text, project, metadata and time, and shows their paths', async () => {
      await createSource(service(), source)
      const hourAgo = new Date(Date.now() - 2 * 3_600_000).toISOString()
      const metadata =
        '{"status":500,"a":{"b":"x=y","f":1.5,"t":true,"none":null,"list":[1]},"k.e":"dot","empty":"","big":18446744073709551615}'
      const entries = [
        `{"id":"one","project":"demo","message":"GET /rest timeout","metadata":${metadata}}`,
        '{"id":"two","project":"demo","message":"get /REST","metadata":{"status":200}}',
        '{"id":"three","project":"other","message":"GET /rest","metadata":{"status":"500"}}',
        `{"id":"old","project":"demo","message":"GET /rest","timestamp":"${hourAgo}"}`,
      ]
      const sent = await run(['logs', 'send', '--source', source], { input: entries.join('\n') })
      expect(sent.code).toBe(0)
      const search = async (...more: string[]) =>
        idsOf((await run(['logs', 'search', source, ...more])).stdout)
      expect((await search('rest', 'GET')).toSorted()).toEqual(['one', 'three', 'two'])
      expect(await search('--since', '1d', '--to', '1h')).toEqual(['old'])
      expect(await search('--since', hourAgo, '--project', 'demo', '-n', '1')).toHaveLength(1)
      expect(await search('status:500', 'NOT', 'project:other')).toEqual(['one'])
      expect(await search('event_message:"GET /rest"')).toEqual(['three'])
      expect(await run(['logs', 'search', source, 'nowhere'])).toMatchObject({
        code: 0,
        stdout: '',
        stderr:
          'No entries match in the hour before now. Search further back with --since.\n' +
          'No entry in this time range matches "nowhere".\n',
      })
      const shown = await run(['logs', 'search', source, 'timeout', '--json'])
      expect(shown.stdout).toContain('18446744073709551615')

      for (const [condition, found] of [
        ...([
          ['status:>=500', 2],
          ['status:>500', 0],
          ['status:500', 2],
          ['status:500.0', 2],
        ] as const),
        ...([
          ['a.b:x=y', 1],
          ['NOT metadata.a.b:x', 3],
          ['a.f:1.5', 1],
          ['a.t:true', 1],
          ['a.none:""', 0],
        ] as const),
        ...([
          ['NOT missing:x', 3],
          ['missing:<1', 0],
          ['empty:""', 1],
          ['k%2Ee:dot', 1],
          ['k.e:dot', 0],
        ] as const),
        ...([
          ['big:18446744073709551615', 1],
          ['a.list:[1]', 1],
          ['id:one', 1],
          ['a.b:<1', 0],
        ] as const),
      ]) {
        expect([condition, (await search(condition)).length]).toEqual([condition, found])
      }
      expect((await search('status:500', 'NOT', 'project:other', 'OR', 'status:<300')).toSorted()).toEqual([
        'one',
        'two',
      ])
      expect((await search('status:(200 OR 500)', 'project:demo')).toSorted()).toEqual(['one', 'two'])

      const args = ['logs', 'tail', source, '-n', '3', '--project', 'demo', 'status:>=200', 'rest']
      const tail = startCommand(args, { environment: environment() })
      let tailed = ''
      tail.child.stdout?.on('data', (chunk) => (tailed += chunk))
      await vi.waitFor(() => expect(idsOf(tailed).toSorted()).toEqual(['one', 'two']))
      const more = [
        '{"id":"four","project":"demo","message":"/rest","metadata":{"status":404}}',
        '{"id":"five","project":"demo","message":"/rest","metadata":{"status":100}}',
        '{"id":"six","project":"demo","message":"/auth","metadata":{"status":404}}',
        '{"id":"seven","project":"demo","message":"/rest","metadata":{"status":"404"}}',
      ]
      expect((await run(['logs', 'send', '--source', source], { input: more.join('\n') })).code).toBe(0)
      await vi.waitFor(() => expect(idsOf(tailed).slice(2)).toEqual(['four', 'seven']))
      tail.child.kill('SIGINT')
      expect((await tail.result).code).toBe(0)

      expect(JSON.parse((await run(['source', 'schema', source, '--json'])).stdout)).toContainEqual(
        expect.objectContaining({ path: 'a.f', types: ['Float64'], entries: 1, sampled: 8 }),
      )
      const schema = await run(['source', 'schema', source])
      expect(schema.stdout).toMatch(/^PATH +TYPES +ENTRIES +SAMPLED +COLUMN/)
      expect(schema.stdout).toMatch(/^status +Int64 String +7 +8 +-/m)

      for (const [command, code, message] of [
        [['logs', 'search', 'no_such_source'], 1, '(source_not_found'],
        [['logs', 'tail', 'no_such_source', '-n', '1'], 1, '(source_not_found'],
        [['logs', 'tail'], 2, "missing required argument 'source'"],
        [['source', 'schema', 'no_such_source'], 1, '(source_not_found'],
        [['logs', 'search', source, '--since', '1 hour'], 2, 'It must be a time such as 30d, 12h'],
        [['logs', 'search', source, '--since', '1h', '--to', '2h'], 1, 'to must be later than from'],
        [['logs', 'search', source, 'a..b:1'], 1, 'is not a field'],
        [['logs', 'search', source, '(a OR'], 1, 'Nothing follows OR at character 6.'],
        [['logs', 'tail', source, 'a:'], 1, 'Nothing follows "a:" at character 3.'],
      ] as const) {
        const result = await run([...command])
        expect({ command, ...result }).toMatchObject({
          command,
          code,
          stderr: expect.stringContaining(message),
        })
      }
      // More than a page with the same timestamp and id.
      const timestamp = new Date(Date.now() - 1000).toISOString()
      const repeated = Array.from({ length: 1_100 }, (_, n) => JSON.stringify({ id: 'r', timestamp, n }))
      expect((await run(['logs', 'send', '--source', source], { input: repeated.join('\n') })).code).toBe(0)
      const all = await run(['logs', 'search', source, '--json', '-n', '2000', 'id:r'])
      const numbers = all.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).metadata.n)
      expect([numbers.length, new Set(numbers).size]).toEqual([1_100, 1_100])

      const made = await run(['token', 'create', '--scope', 'search', '--project', 'demo'])
      const as = { WELLHEAD_TOKEN: made.stdout.trim(), WELLHEAD_URL: service().url }
      const searchAsTenant = () => run(['logs', 'search', source, '-n', '100'], { environment: as })
      expect((await searchAsTenant()).stderr).toContain('(source_not_found')
      expect((await run(['source', 'update', source, '--published'])).code).toBe(0)
      const own = await searchAsTenant()
      expect(idsOf(own.stdout).toSorted()).toEqual(['five', 'four', 'one', 'seven', 'six', 'two'])
      expect(await run(['source', 'schema', source], { environment: as })).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('(forbidden'),
      })
      expect((await run(['source', 'update', source, '--no-published'])).code).toBe(0)
      expect((await searchAsTenant()).stderr).toContain('(source_not_found')
      expect((await run(['source', 'delete', source, '--yes'])).code).toBe(0)
    })
  })
}
