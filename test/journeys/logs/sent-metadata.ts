import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Entry, logClient } from '../../support/log-client.ts'
import { openEvents } from '../../support/network/event-reader.ts'
import type { RunningService } from '../../support/service.ts'

export function describeSentMetadata(service: () => RunningService): void {
  const { send } = logClient(service)

  test('returns metadata as it was sent', async () => {
    const metadata = {
      int: 1,
      negative: -7,
      fraction: 1.5,
      text: 'x "quoted" \\ /slash/ \n \u0000 😀',
      date: '2026-01-01',
      time: '2026-01-01 00:00:00',
      digits: '0123',
      yes: true,
      list: [1, 'two', null, { three: [3] }],
      empty: [],
      deep: { 'a.b': { c: 'dotted' } },
      '': 'empty key',
      constructor: 'own',
      ['__proto__']: { polluted: true },
    }
    const big =
      '{"id":"big","metadata":{"big":9007199254740993,"bigger":18446744073709551615,"small":-9223372036854775808}}'
    await send('realtime_logs', `[{"id":"m","metadata":${JSON.stringify(metadata)}},${big}]`)
    const raw = await (await service().call('/api/sources/realtime_logs/recent')).text()
    const entries = JSON.parse(raw) as Entry[]
    expect(entries.find(({ id }) => id === 'm')?.metadata).toEqual(JSON.parse(JSON.stringify(metadata)))
    expect(raw).toContain('9007199254740993')
    expect(raw).toContain('18446744073709551615')
    expect(raw).toContain('-9223372036854775808')
  })

  test('returns any metadata byte for byte from logs.all, the newest entries and the tail', async () => {
    const written = [
      '{"a":1.0,"b":1E5,"c":-0,"d":18446744073709551615,"e":-9223372036854775808,"f":0.12345678901234567890}',
      '{"z":null,"a":{},"b":[],"a.b":1,"a%2Eb":2,"":{"":""},"a":"again"}',
      String.raw`{"text":"\u00e9\/\n\ud83d\ude00 \"x\" é😀","list":[[],[{}],{"k":[null,true]}]}`,
      '{"lines":"a\u2028b\u2029c"}',
    ]
    // Without what is rejected: half of a surrogate pair and integers beyond 64 bits.
    const isReadable = (text: string) =>
      text.isWellFormed() && !/\\u[dD][89a-fA-F]/.test(text) && !/\d{19}/.test(text)
    const made = fc
      .sample(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { maxKeys: 6 }), 60)
      .map((value) => JSON.stringify(value))
    const texts = [...written, ...made.filter(isReadable)]
    const tail = await openEvents(
      `${service().url}/api/sources/edge_logs/tail?project=exact`,
      service().adminToken.token,
    )
    const lines = texts.map((text, index) => `{"id":"exact-${index}","project":"exact","metadata":${text}}`)
    expect((await send('edge_logs', lines.join('\n'))).body).toMatchObject({
      accepted: texts.length,
      rejected: 0,
    })
    const rows = async (path: string) => {
      const body = await (await service().call(path)).text()
      // A dot would not match all that a text may have, such as U+2028.
      const found = [...body.matchAll(/"id":"exact-(\d+)",[^\n]*?"metadata":([^\n]*)\}(?=,?\n|\]|$)/g)]
      return new Map(found.map(([, index, metadata]) => [Number(index), metadata]))
    }
    const expected = new Map(texts.map((text, index) => [index, text]))
    const all = '/api/endpoints/query/logs.all?project=exact&project_tier=PRO'
    for (const path of [all, `${all}&_format=ndjson`, '/api/sources/edge_logs/recent?limit=1000']) {
      expect(await rows(path)).toEqual(expected)
    }
    for (const text of texts) {
      const { data } = (await tail.next()) as { data: string }
      expect(data.slice(data.indexOf('"metadata":'))).toBe(`"metadata":${text}}`)
    }
    tail.close()
  })
}
