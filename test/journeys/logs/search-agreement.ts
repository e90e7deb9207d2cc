import { beforeAll, describe, expect, test } from 'vitest'
import { JsonPaths } from '../../../src/base/json/json-paths.ts'
import type { TypedColumn } from '../../../src/catalog/source.ts'
import { queryRows } from '../../../src/engine/json-rows.ts'
import { readEntry } from '../../../src/intake/entry-batch.ts'
import { LiveEntry } from '../../../src/live/live-reader.ts'
import { entryMatch } from '../../../src/search/condition-match.ts'
import { readQuery } from '../../../src/search/parse-query.ts'
import { ask } from '../../support/callers.ts'
import { many } from '../../support/engines.ts'
import { logClient } from '../../support/log-client.ts'
import type { RunningService } from '../../support/service.ts'

const columns: TypedColumn[] = [
  { name: 'status_code', path: 'response.status', type: 'number', searched: false },
  { name: 'request_url', path: 'request.url', type: 'text', searched: true },
  { name: 'level', path: 'level', type: 'text', searched: false },
]

/** Values as JSON: what engines and JavaScript read differently, if anything. */
const values = [
  ...['1', '1.0', '1.50', '-0', '-0.0', '1e21', '1e-7', '9007199254740993', '18446744073709551615', '500'],
  ...['"500"', '"5e2"', '"+500"', '" 500"', '"500."', '".5"', '"inf"', '"nan"', '"0x10"', '"1e400"', '""'],
  ...['true', 'false', 'null', '[]', '{}', '[1, 2.0,"a"]', '{"2":1, "1":{"x":-0.0}}', '{"a":1,"a":2}'],
  ...[
    '"/rest/v1"',
    '"/REST/V1"',
    '"a\\u0000b"',
    '"\\u2028"',
    '{"x":"\\u2028/\\u001f"}',
    '"ΟΔΟΣ"',
    '"İ"',
    '"ẞ"',
  ],
  // Words are found in texts at any depth, however a sender escapes them, but not in keys.
  ...[
    '"c\\u006Fnnect ECONNREFUSED 10.0.0.7"',
    '"one\\nline2\\u0026more"',
    '"\\/php\\/path"',
    '"\\u212Aelvin kelvin"',
  ],
  ...[
    '["deep",{"key_1":"INNER text","k":[7.50,-3]}]',
    '{"ECONNREFUSED":"x:500,"}',
    '"C:\\\\new\\\\dir"',
    '"ſtraße"',
  ],
  ...['"a%b_c"', '"\\\\"', '"\'"', '"\\""', '"😀"', '"*"', '"400..499"', '"null"', '"constructor"', '"5xx"'],
]
/** Texts that are the same without letter case: of another length, at another place in a word, or in scripts with few capitals. */
const alike = [
  ['ẞ', 'ß'],
  ['\u212a', 'k'],
  ['NETWOR\u212a', 'network'],
  ['\u212a\u212a\u212a\u212a\u212a', 'kkkkk'],
  ['ΟΔΟΣ', 'οδος'],
  ['Σ', 'ς'],
  ['MINİ', 'mini\u0307'],
  ['Ა', 'ა'],
  ['Ꭰ', 'ꭰ'],
  ['𞤀', '𞤢'],
] as const
values.push(...alike.flat().flatMap((text) => [`"${text}"`, `"${text}!"`]))
// Escapes of letters that the index has as they were sent.
values.push('"networ\\u212A"', '"\\u1e9e"', '"MINI"')

// Quotes, colons and brackets in texts and keys, where a key could seem to begin or end.
values.push(
  ...[
    '["a1x",5,":x1",7,":"]',
    '{"a1,":5,"b[":["t2",6,":t3"]}',
    '{":k4":":t4","":[8,""]}',
    '"say \\"k5\\": v5"',
  ],
  ...[
    '"end6\\\\"',
    '["q7\\"",":q8",9]',
    '"tab\\tstop"',
    '"\\u0041bc"',
    '"\\\\u0041bc"',
    '"trueish"',
    '[true,null,"fals"]',
  ],
)
const random = randomNumbers(7)
const nasty = ['"', ':', ',', '[', '{', '}', '\\', '\n', ' ', 'a', 'b', '1', 'e', 'é', 'K', 'u0041']
const nastyText = () => Array.from({ length: 6 }, () => nasty[Math.floor(random() * nasty.length)]).join('')
const nastyTexts = Array.from({ length: 24 }, nastyText)
values.push(
  ...Array.from({ length: 8 }, (_, at) => {
    const [key = '', text = '', other = ''] = nastyTexts.slice(3 * at)
    return JSON.stringify({ [key]: [text, at, other], k: text })
  }),
)

const messages = ['GET /rest/v1 500', 'ÜBER Straße', 'ΟΔΟΣ', "it's \\ 100%_", '"quoted"', '', 'null', '😀 İ']

/** Each value in a metadata path, in a typed column of numbers, and in one of text. */
const entries = values.map((value, index) => {
  const metadata = [
    `"plain": ${value}`,
    `"deep":{"k.e y":{"__proto__": ${value} }, "n":${value}}`,
    `"response":{ "status":${value}},"request":{"url":${value}}`,
    ...(index % 3 === 0 ? [`"level":"error"`] : index % 3 === 1 ? [`"level":""`] : []),
    // The engine reads the first of them.
    `"plain":"second","twice":1,"twice":${value}`,
  ]
  const message = messages[index % messages.length] as string
  return `{"id":"e${index}","project":"${index % 2 ? 'a' : "b'"}","event_message":${JSON.stringify(message)},"metadata":{${metadata.join(',')}}}`
})

const fields = [
  ...['plain', 'metadata.plain', 'deep.k%2Ee y.__proto__', 'deep.n', 'deep', 'twice', 'absent', 'plain.x'],
  ...[
    'status',
    'response.status',
    'url',
    'request_url',
    'level',
    'metadata.level',
    'id',
    'project',
    'message',
  ],
]
const words = [
  ...[
    'connect',
    'ECONNREFUSED',
    'econn',
    'connect ECONNREFUSED',
    'line2',
    'nline2',
    'line2&more',
    'php/path',
    'key_1',
  ],
  ...[
    'inner TEXT',
    '7.50',
    '7.5',
    '-3',
    '500',
    '5',
    '1.0',
    '18446744073709551615',
    'new',
    'c:\\new',
    'plain',
    'kelvin',
  ],
  ...[
    'Kelvin',
    '/rest/v1',
    'constructor',
    'true',
    'strasse',
    'ſtraße',
    'ß',
    '10.0.0.7',
    '\n',
    'error',
    '","',
  ],
  ...[
    'x1',
    ':x1',
    'a1',
    'b',
    't2',
    't3',
    'k4',
    't4',
    'k5',
    'v5',
    'k5": v',
    'end6',
    'q7',
    'q8',
    '9',
    'stop',
    'tstop',
  ],
  ...[
    'abc',
    'u0041bc',
    '0041',
    'trueish',
    'rue',
    'fals',
    'false',
    'line2 more',
    'connect refused',
    'ab',
    '1e',
    'é',
  ],
  ...nastyTexts.map((text, at) => (at % 2 === 0 ? text : text.slice(1, 4))),
  ...['rest', 'über', 'STRASSE', 'straße', 'οδοσ', 'οδος', "it's", '%', '\\', 'null', '😀', 'i̇', 'e'],
]
const texts = [
  ...['500', '1', '1.5', '-0', '0', '1e21', '9007199254740993', '18446744073709551615', 'true', '/rest/v1'],
  ...['[1,2,"a"]', '{"2":1,"1":{"x":-0}}', '{"a":1,"a":2}', '{"x":"\\u2028/\\u001F"}', '', 'a\0b', '\u2028'],
  ...[
    'ΟΔΟΣ',
    'a%b_c',
    '\\',
    "'",
    '"',
    '*',
    'error',
    'e1',
    "b'",
    'constructor',
    '400..499',
    '5xx',
    '{}',
    '[]',
  ],
]
const comparisons = [
  ...[
    '*',
    '>=500',
    '>0.5',
    '<1',
    '<=1.5',
    '-1..1',
    '400..499',
    '..0',
    '500..',
    '>1e20',
    '5*',
    '/rest/*',
    '*v1',
  ],
  ...[
    '*REST*',
    '*οδ*',
    '1*',
    '*"',
    '(1 OR 500)',
    '(NOT 1)',
    '(>=1 <=500)',
    '(e* OR -b*)',
    '5xx',
    '1e3',
    '+500',
    '1.50',
    '-0.0',
    '1E21',
  ],
]

/** Numbers from 0 to below 1, the same in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function queryMaker(random: () => number) {
  const one = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
  const condition = () => {
    const kind = random()
    if (kind < 0.2) return quoted(one(words))
    return `${quoted(one(fields))}:${kind < 0.6 ? quoted(one(texts)) : one(comparisons)}`
  }
  const make = (depth: number): string => {
    if (depth === 0 || random() < 0.3) return condition()
    const [left, right] = [make(depth - 1), make(depth - 1)]
    return one([`${left} ${right}`, `(${left} OR ${right})`, `NOT (${left} AND ${right})`, `-(${left})`])
  }
  return () => make(Math.floor(random() * 4))
}

/** The same entries are found by searching and by following. */
export function searchAgreement(running: () => RunningService): void {
  const { send } = logClient(running)
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)
  const stored = entries.map((entry) => {
    const reading = readEntry(entry, { nowMs: Date.now() })
    if ('reason' in reading) throw new Error(`${reading.reason}: ${entry}`)
    return new LiveEntry(reading.line, 0, '0')
  })

  describe('the engine and the live tail understand a query in the same way', () => {
    // One source has the index of words, which merges build; the entries of the other are read.
    const sources = ['agreed', 'merged'] as const
    let turn = 0
    beforeAll(async () => {
      for (const name of sources) {
        await admin('POST', '/api/sources', { name, columns, search_index: name === 'merged' })
        const sent = await send(name, entries.join('\n'), { 'Content-Type': 'application/x-ndjson' })
        expect(sent.body).toMatchObject({ accepted: entries.length, rejected: 0 })
      }
      const { engine } = running()
      await engine.command({ sql: 'OPTIMIZE TABLE merged FINAL' }, { deadlineMs: 60_000 })
      const sql =
        "SELECT toUInt32(sum(secondary_indices_compressed_bytes)) AS bytes FROM system.parts WHERE table = 'merged' AND active"
      const [found] = await queryRows<{ bytes: number }>(engine, { sql }, { deadlineMs: 60_000 })
      expect(found?.bytes).toBeGreaterThan(0)
    })

    const source = () => sources[turn++ % 2] as string

    /** For each query, how many entries it finds. Their SQL runs as one statement, which takes a fraction of the time. */
    async function compareAll(queries: readonly string[]): Promise<('refused' | number)[]> {
      const searches = await Promise.all(queries.map((query) => search(query, `/api/sources/${source()}`)))
      const parts = searches.flatMap(({ sql }, at) =>
        sql === undefined ? [] : [`SELECT ${at} AS search, id FROM (${sql})`],
      )
      const body = { query: parts.join('\nUNION ALL\n'), max_rows: 10_000 }
      const rows = parts.length > 0 ? await admin('POST', '/api/sql', body) : undefined
      if (rows) expect([queries, rows.status, rows.body.error?.message]).toEqual([queries, 200, undefined])
      const found: { search: number; id: string }[] = rows?.body.result ?? []
      return searches.map(({ query, ids }, at) => {
        if (ids === undefined) return 'refused'
        const bySql = found.filter(({ search }) => search === at).map(({ id }) => id)
        expect([query, bySql.sort()]).toEqual([query, ids])
        const { paths, tests, decide } = entryMatch(readQuery(query, columns))
        const wanted = new JsonPaths()
        for (const path of paths) wanted.add(path)
        const matching = stored
          .map((entry) => entry.stored(wanted))
          .filter((entry) => decide((test) => tests[test]?.(entry) ?? false))
          .map((entry) => entry.column('id'))
        expect({ query, ids: matching.sort() }).toEqual({ query, ids })
        return ids.length
      })
    }

    async function search(
      query: string,
      path: string,
    ): Promise<{ query: string; ids?: string[]; sql?: string }> {
      const { status, body } = await admin('POST', `${path}/search`, { query, limit: 500 })
      if (status === 400) {
        expect(() => readQuery(query, columns)).toThrow(body.error.message)
        return { query }
      }
      const ids = body.map(({ id }: { id: string }) => id).sort()
      const { body: sql } = await admin('POST', `${path}/search-sql`, { query })
      return { query, ids, sql: sql.query }
    }

    const compare = async (query: string) => (await compareAll([query]))[0] as 'refused' | number

    test('for each operator on each kind of field', async () => {
      const exact = texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`)
      const queries = [
        ...[...comparisons, ...exact].map((value) => `plain:${value}`),
        ...['status', 'url', 'level'].flatMap((field) => comparisons.map((value) => `${field}:${value}`)),
        ...words.flatMap((word) => [word, word]).map((word) => `"${word.replace(/["\\]/g, '\\$&')}"`),
      ]
      while (queries.length > 0) await compareAll(queries.splice(0, 8))
    })

    test('for letters whose lower case has another length, and for scripts with few capitals', async () => {
      for (const pair of alike) {
        const words = await compareAll(pair.map((word) => `"${word}"`))
        const fields = await compareAll(pair.map((word) => `plain:*${word}*`))
        // Both, alone and with an exclamation mark.
        expect([pair, words[0], fields[0]]).toEqual([pair, words[1], fields[1]])
        expect(fields[0]).toBeGreaterThanOrEqual(4)
      }
      expect(await compare('"mini"')).toBe(1)
    })

    test('for numbers, which are found as they were sent and by value', async () => {
      for (const field of ['plain', 'url', 'status']) {
        const queries = [`${field}:1.50`, `${field}:15e-1`, `${field}:1E21`, `${field}:1.0`]
        expect([field, await compareAll(queries)]).toEqual([field, [1, 1, 1, 2]])
        // The number, and the texts "500" and "5e2".
        expect([field, await compare(`${field}:(5e2 OR 7)`)]).toEqual([field, field === 'status' ? 5 : 3])
      }
      expect(await compare('plain:"1.50"')).toBe(0)
    })

    test('for combinations', async () => {
      const nextQuery = queryMaker(randomNumbers(20_260_101))
      const results = []
      for (let left = many(3_000, 56); left > 0; left -= 8) {
        results.push(...(await compareAll(Array.from({ length: 8 }, nextQuery))))
      }
      const found = results.filter(
        (result) => typeof result === 'number' && result > 0 && result < entries.length,
      )
      expect(found.length).toBeGreaterThan(results.length / 4)
    })
  })
}
