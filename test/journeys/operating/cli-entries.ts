import { describe, expect, test, vi } from 'vitest'
import { collectCondition, matches } from '../../../src/cli/logs/entry-filter.ts'
import { type CommandChoices, runCommand, startCommand } from '../../support/command.ts'
import type { LocalService } from './cli.ts'

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
      expect((await run(['source', 'create', source])).code).toBe(0)
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
      expect(await search('--from', hourAgo, '--project', 'demo', '-n', '1')).toHaveLength(1)
      expect(await search('--where', 'status=500', '--where', 'project!=other')).toEqual(['one'])
      expect(await run(['logs', 'search', source, 'nowhere'])).toMatchObject({
        code: 0,
        stdout: '',
        stderr: 'No entries match in the hour before now. Search further back with --since.\n',
      })
      const shown = await run(['logs', 'search', source, 'timeout', '--json'])
      expect(shown.stdout).toContain('18446744073709551615')

      // The command decides like the service what a condition means.
      const entry = { ...JSON.parse(shown.stdout), metadata: JSON.parse(metadata) }
      for (const condition of [
        ...[
          'status=500',
          'status>=500',
          'status>500',
          'status=500.0',
          'a.b=x=y',
          'metadata.a.b!=x',
          'a.f=1.5',
        ],
        ...['a.t=true', 'a.none=', 'a.none!=', 'missing!=x', 'missing<1', 'empty=', 'k%2Ee=dot', 'k.e=dot'],
        ...['big=18446744073709551615', 'a.list=[1]', 'a.list.0=1', 'id=one', 'a.b<1', 'event_message!=x'],
      ]) {
        const filters = collectCondition(condition, undefined)
        const response = await fetch(`${service().url}/api/sources/${source}/search`, {
          method: 'POST',
          headers: { 'X-API-KEY': service().token, 'Content-Type': 'application/json' },
          body: JSON.stringify({ text: ['timeout'], filters }),
        })
        const found = (await response.json()) as object[]
        expect([condition, matches(entry, [], filters)]).toEqual([condition, found.length === 1])
      }

      const args = ['logs', 'tail', source, '-n', '3', '--project', 'demo', '--where', 'status>=200', 'rest']
      const tail = startCommand(args, { environment: environment() })
      let tailed = ''
      tail.child.stdout?.on('data', (chunk) => (tailed += chunk))
      await vi.waitFor(() => expect(idsOf(tailed).toSorted()).toEqual(['one', 'two']), { timeout: 60_000 })
      const more = [
        '{"id":"four","project":"demo","message":"/rest","metadata":{"status":404}}',
        '{"id":"five","project":"demo","message":"/rest","metadata":{"status":100}}',
        '{"id":"six","project":"demo","message":"/auth","metadata":{"status":404}}',
        '{"id":"seven","project":"demo","message":"/rest","metadata":{"status":"404"}}',
      ]
      expect((await run(['logs', 'send', '--source', source], { input: more.join('\n') })).code).toBe(0)
      await vi.waitFor(() => expect(idsOf(tailed).slice(2)).toEqual(['four', 'seven']), { timeout: 60_000 })
      tail.child.kill('SIGINT')
      expect((await tail.result).code).toBe(0)

      expect(JSON.parse((await run(['source', 'schema', source, '--json'])).stdout)).toContainEqual(
        expect.objectContaining({ path: 'a.f', types: ['Float64'], entries: 1, sampled: 8 }),
      )
      const schema = await run(['source', 'schema', source])
      expect(schema.stdout).toMatch(/^PATH +KINDS +SHARE +COLUMN/)
      expect(schema.stdout).toMatch(/^status +number, text +87 % +-/m)

      for (const [command, code, message] of [
        [['logs', 'search', 'no_such_source'], 1, '(source_not_found'],
        [['logs', 'tail', 'no_such_source', '-n', '1'], 1, '(source_not_found'],
        [['logs', 'tail'], 2, 'Name the source to follow'],
        [['source', 'schema', 'no_such_source'], 1, '(source_not_found'],
        [['logs', 'search', source, '--since', '1 hour'], 2, 'It must be a time such as 30d, 12h'],
        [['logs', 'search', source, '--since', '1h', '--from', '2h'], 2, 'not both'],
        [['logs', 'search', source, '--from', '1h', '--to', '2h'], 1, 'to must be later than from'],
        [['logs', 'search', source, '--where', 'status'], 2, 'must be a condition such as'],
        [['logs', 'search', source, '--where', 'a..b=1'], 1, 'is not a path'],
      ] as const) {
        const result = await run([...command])
        expect({ command, ...result }).toMatchObject({
          command,
          code,
          stderr: expect.stringContaining(message),
        })
      }
      const made = await run(['token', 'create', '--scope', 'query', '--project', 'demo'])
      const as = { WELLHEAD_TOKEN: made.stdout.trim(), WELLHEAD_URL: service().url }
      for (const command of [
        ['logs', 'search', source],
        ['logs', 'tail', source, '-n', '1'],
        ['source', 'schema', source],
      ]) {
        expect(await run(command, { environment: as })).toMatchObject({
          code: 1,
          stdout: '',
          stderr: expect.stringContaining('(forbidden'),
        })
      }
      expect((await run(['__names', 'sources'])).stdout.split('\n')).toContain(source)
      expect((await run(['source', 'delete', source, '--yes'])).code).toBe(0)
    })
  })
}
