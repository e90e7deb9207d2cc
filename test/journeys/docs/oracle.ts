import { beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { type EventReader, openEvents } from '../../support/network/event-reader.ts'
import type { RunningService } from '../../support/service.ts'

/** The index consists of 4-grams, so an attacker must know four letters to start with. */
const prefix = 'key='
const secret = `${prefix}q7`
const letters = ['x', 'q', '7']

/** One guess: what its caller gets, and what an admin can see. */
interface Guess {
  at: number
  letter: string
  headers: Headers
  /** The caller's response, event stream and statistics, without times and ids. */
  response: string
  /** Fields of the request's entry in the statistics. */
  recorded: Record<string, unknown>
  /** From the metrics. */
  rowsRead: number
}

const volatileHeaders = ['date', 'server-timing', 'x-request-id']
const volatileFields = ['engine_ms', 'total_ms', 'request_id']

/**
 * A tenant and a sandbox caller guess a secret in another project's URLs, one letter at a time. Their own rows never
 * match, so the response is always the same; only the amount of data that the engine reads could reveal the secret.
 */
export function oracleJourneys(running: () => RunningService): void {
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)
  const query = '/api/endpoints/query'

  describe('the data of other tenants', () => {
    const guesses: Record<'admin' | 'tenant' | 'sandbox', Guess[]> = { admin: [], tenant: [], sandbox: [] }
    const tailed: Record<string, unknown>[] = []
    let tenant: string
    let viewer: string

    const rowsReadFor = async (endpoint: string) => {
      const { body } = await admin('GET', '/metrics')
      const line = new RegExp(`^wellhead_rows_read_total{endpoint="${endpoint}"} (\\d+)$`, 'm')
      return Number(line.exec(body)?.[1] ?? 0)
    }
    const guess = async (token: string, endpoint: string, parametersFor: (text: string) => object) => {
      const made: Guess[] = []
      for (let at = prefix.length; at < secret.length; at++) {
        for (const letter of letters) {
          const parameters = new URLSearchParams({ ...parametersFor(secret.slice(0, at) + letter) })
          const path = `${query}/${endpoint}?${parameters}`
          const before = await rowsReadFor(endpoint)
          const { status, headers, body } = await ask(running(), token, 'GET', path)
          const rowsRead = (await rowsReadFor(endpoint)) - before
          expect([status, body]).toEqual([200, { result: [{ n: expect.any(Number) }] }])
          const stream = await openEvents(running().url + path, token)
          const streamed = [namesAndValues(stream.headers), await stream.next()]
          stream.close()
          made.push({
            at,
            letter,
            headers,
            response: JSON.stringify([namesAndValues(headers), body, streamed]),
            recorded: {},
            rowsRead,
          })
        }
      }
      await running().statistics?.flush()
      const records = await ask(running(), token, 'GET', `${query}/oracle.calls?endpoint=${endpoint}`)
      const own = records.body.result.slice(-made.length) as { metadata: Record<string, unknown> }[]
      for (const [index, each] of made.entries()) {
        each.recorded = own[index]?.metadata ?? {}
        const stable = Object.entries(each.recorded).filter(([field]) => !volatileFields.includes(field))
        each.response += JSON.stringify(stable)
      }
      return made
    }

    beforeAll(async () => {
      const source = {
        name: 'oracle_logs',
        columns: [{ name: 'request_url', path: 'request.url', type: 'text', searched: true }],
      }
      expect((await admin('POST', '/api/sources', source)).status).toBe(201)
      const entry = (project: string, url: string) => ({ project, metadata: { request: { url } } })
      // In one request, so that rows of both projects are in the same granule.
      const entries = [
        ...Array.from({ length: 3 }, () => entry('oracle-spy', 'https://spy.example/')),
        ...Array.from({ length: 30 }, () => entry('oracle-victim', `https://victim.example/?${secret}`)),
      ]
      expect((await admin('POST', '/api/logs?source=oracle_logs', entries)).body.accepted).toBe(33)
      // Merges build the index.
      await running().engine.command({ sql: 'OPTIMIZE TABLE oracle_logs FINAL' }, { deadlineMs: 60_000 })
      for (const endpoint of [
        {
          name: 'oracle.search',
          query: "SELECT count() AS n FROM oracle_logs WHERE request_url LIKE concat('%', @text, '%')",
        },
        {
          name: 'oracle.sandbox',
          query:
            'WITH entries AS (SELECT request_url AS url FROM oracle_logs WHERE project = @owner) SELECT count() AS n FROM entries',
          sandbox: true,
        },
        {
          name: 'oracle.calls',
          query:
            'SELECT metadata FROM endpoint_requests WHERE endpoint = @endpoint ORDER BY timestamp, id LIMIT 100',
        },
      ]) {
        const { status, body } = await admin('POST', '/api/endpoints', { published: true, ...endpoint })
        expect(status, JSON.stringify(body)).toBe(201)
      }
      tenant = (await makeToken(running(), { scopes: ['query', 'search'], project: 'oracle-spy' })).token
      viewer = (await makeToken(running(), { scopes: ['query'], parameters: { owner: 'oracle-spy' } })).token
      const search = (text: string) => ({ text })
      guesses.admin = await guess(running().adminToken.token, 'oracle.search', search)
      await admin('PATCH', '/api/sources/endpoint_requests', { published: true })
      const tail = await openEvents(`${running().url}/api/sources/endpoint_requests/tail`, tenant)
      guesses.tenant = await guess(tenant, 'oracle.search', search)
      tailed.push(...(await entriesOf(tail, guesses.tenant.length)))
      tail.close()
      guesses.sandbox = await guess(viewer, 'oracle.sandbox', (text) => ({
        sql: `SELECT count() AS n FROM entries WHERE url LIKE '%${text}%'`,
      }))
    })

    test('affects the read figures that admins get', () => {
      expect(revealedBy(guesses.admin, ({ headers }) => headers.get('Wellhead-Read-Rows'))).toBe('q7')
      expect(revealedBy(guesses.admin, ({ headers }) => headers.get('Wellhead-Read-Bytes'))).toBe('q7')
      expect(revealedBy(guesses.admin, ({ rowsRead }) => rowsRead)).toBe('q7')
    })

    test.each(['tenant', 'sandbox'] as const)(
      'does not affect what a %s caller gets: read figures are missing',
      (caller) => {
        expect(guesses[caller]).toHaveLength(letters.length * (secret.length - prefix.length))
        expect(revealedBy(guesses[caller], ({ response }) => response)).toBe('')
        for (const { headers, recorded, response } of guesses[caller]) {
          expect([...headers.keys()].filter((name) => name.includes('read'))).toEqual([])
          expect(Object.keys(recorded).sort()).toEqual(recordedFields)
          expect(response).not.toMatch(/read.?(rows|bytes)|rows.?read/i)
        }
      },
    )

    test('does not affect the live request entries that a tenant reads', () => {
      for (const metadata of tailed) expect(Object.keys(metadata).sort()).toEqual(recordedFields)
    })

    test.each(['tenant', 'sandbox'] as const)(
      'does not change how many rows the engine reads for a %s caller',
      (caller) => {
        expect(revealedBy(guesses[caller], ({ rowsRead }) => rowsRead)).toBe('')
        expect(guesses[caller][0]?.rowsRead).toBeGreaterThan(0)
      },
    )

    test('does not affect the shipped statistics', async () => {
      for (const token of [viewer, running().adminToken.token]) {
        for (const [endpoint, columns] of Object.entries({
          'wellhead.endpoint-stats': 'timestamp endpoint calls errors hit_ratio p50_ms p95_ms p99_ms',
          'wellhead.top-callers': 'token_id calls errors p95_ms bytes last_call',
        })) {
          const { body } = await ask(running(), token, 'GET', `${query}/${endpoint}?interval=1day`)
          // They are not published.
          expect((await ask(running(), tenant, 'GET', `${query}/${endpoint}`)).status).toBe(404)
          expect(Object.keys(body.result[0])).toEqual(columns.split(' '))
        }
      }
    })
  })
}

const recordedFields = [
  ...['bytes', 'cache', 'calls', 'endpoint', 'endpoint_id', 'engine_ms', 'format', 'method'],
  ...['request_id', 'rows', 'status', 'token_id', 'total_ms', 'version'],
]

function namesAndValues(headers: Headers): [string, string][] {
  return [...headers].filter(([name]) => !volatileHeaders.includes(name))
}

async function entriesOf(tail: EventReader, count: number): Promise<Record<string, unknown>[]> {
  const entries: Record<string, unknown>[] = []
  while (entries.length < count) {
    const event = await tail.next()
    if (event === undefined) throw new Error('The tail ended early.')
    if (event.event === 'entry') entries.push(JSON.parse(event.data).metadata)
  }
  return entries
}

/** The letters whose figure differs from all others: what an attacker would learn. */
function revealedBy(guesses: readonly Guess[], figure: (guess: Guess) => unknown): string {
  let revealed = ''
  for (let at = prefix.length; at < secret.length; at++) {
    const here = guesses.filter((guess) => guess.at === at)
    const alone = here.filter((guess) =>
      here.every((other) => other === guess || figure(other) !== figure(guess)),
    )
    // If all figures differ, they do not depend on the guess.
    if (alone.length === 1) revealed += alone[0]?.letter
  }
  return revealed
}
