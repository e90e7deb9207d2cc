import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ask } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { logflareDrain } from '../../support/network/logflare-drain.ts'
import { openService, type RunningService } from '../../support/service.ts'

interface AppliedRule {
  rule: object
  origin: string
  entries: number
}

interface Preview {
  newest: number
  rules: AppliedRule[]
  entries: { before: { id: string }; after: { event_message: string; metadata: object } | null }[]
}

const card = '4111 1111 1111 1111'

export function describeRules(service: () => RunningService): void {
  const { send, recent } = logClient(service)
  const admin = (method: string, path: string, body?: unknown) =>
    ask(service(), service().adminToken.token, method, path, body)
  let number = 0
  /** A source of its own with these rules. */
  const sourceWith = async (rules: unknown, more: object = {}) => {
    const name = `ruled_${++number}`
    const { status, body } = await admin('POST', '/api/sources', { name, rules, ...more })
    expect([status, body]).toEqual([201, expect.anything()])
    return name
  }
  const sendTo = async (source: string, ...entries: unknown[]) =>
    (await send(source, JSON.stringify(entries), { 'Content-Type': 'application/json' })).body
  const messagesOf = async (source: string) =>
    (await recent(source, 1000)).map(({ event_message }) => event_message).sort()
  const rejectedOf = async (source: string) =>
    (await recent('quarantine', 1000))
      .filter(({ metadata }) => metadata.source === source)
      .map(({ event_message }) => event_message)

  describe('rules of a source', () => {
    test('drop entries by a search, and count them per rule, in the response and as a metric', async () => {
      const columns = [{ name: 'status', path: 'response.status', type: 'number' }]
      const source = await sourceWith([{ drop: '"GET /health" OR path:/health*' }, { drop: 'status:<400' }], {
        columns,
      })
      const sent = await sendTo(
        source,
        { event_message: 'get /HEALTH from probe' },
        { event_message: 'a', path: '/health/live' },
        { event_message: 'b', metadata: { response: { status: 200 } } },
        { event_message: 'c', metadata: { response: { status: 500 } } },
        { event_message: 'd', timestamp: 'never' },
      )
      expect(sent).toEqual({
        message: 'Logged!',
        accepted: 1,
        rejected: 1,
        dropped: 3,
        errors: [{ index: 4, reason: expect.stringMatching(/^timestamp must be/) }],
      })
      expect(await messagesOf(source)).toEqual(['c'])
      const { body: rules }: { body: AppliedRule[] } = await admin('GET', `/api/sources/${source}/rules`)
      expect(rules.map(({ origin, entries }) => [origin, entries])).toEqual([
        ['source', 2],
        ['source', 1],
      ])
      const metrics = await (await service().call('/metrics')).text()
      expect(metrics).toContain(`wellhead_ingest_entries_total{source="${source}",result="dropped"} 3`)
      expect(metrics).toContain(`wellhead_ingest_rule_entries_total{source="${source}",rule="1"} 2`)
    })

    test('may drop everything, also what would be rejected', async () => {
      const source = await sourceWith([{ drop: '*' }])
      expect(await sendTo(source, {}, { timestamp: 'never' }, { id: {} })).toMatchObject({
        accepted: 0,
        rejected: 0,
        dropped: 3,
      })
      expect([await recent(source), await rejectedOf(source)]).toEqual([[], []])
    })

    test('sample whole traces, the same ones each time, and leave other entries alone', async () => {
      const source = await sourceWith([{ sample: 0.25, where: 'level:debug' }])
      const entries = Array.from({ length: 400 }, (_, index) => ({
        event_message: `${Math.floor(index / 4)}`,
        trace_id: `trace-${Math.floor(index / 4)}`,
        metadata: { level: 'debug' },
      }))
      const first = await sendTo(source, ...entries, { event_message: 'info', metadata: { level: 'info' } })
      const traces = (await messagesOf(source)).filter((message) => message !== 'info')
      expect(first.accepted).toBe(traces.length + 1)
      expect(new Set(traces).size * 4).toBe(traces.length)
      // 25 of 100 are expected.
      expect(new Set(traces).size).toBeGreaterThan(10)
      expect(new Set(traces).size).toBeLessThan(45)
      expect((await sendTo(source, ...entries)).accepted).toBe(traces.length)
    })

    test('remove, redact and mask in order, in arrays, in keys with dots, and in keys that are there twice', async () => {
      const source = await sourceWith([
        { remove: 'request.headers.cookie' },
        { redact: 'metadata.user.name' },
        { redact: 'attributes."http.url"' },
        { remove: 'form."card number, \\"CVC\\""' },
        { mask: ['email'], in: ['event_message', 'user'] },
        { mask: ['card', 'ip'] },
        { drop: 'user.name:Ada' },
      ])
      const text = `{
        "event_message": "ada\\u0040example.com paid with ${card}, not 4111 1111 1111 1112",
        "metadata": {
          "request": [{ "headers": { "cookie": "a", "host": "h" } }, { "headers": [{ "cookie": "b" }] }],
          "user": { "name": "Ada", "name": "Eve", "mail": ["ada@example.com", 4111111111111111] },
          "attributes": { "http.url": "https://example.com", "http": { "url": "kept" } },
          "form": { "card number, \\"CVC\\"": "123" },
          "other": "eve@example.com from 10.0.0.1"
        },
        "user": { "name": "Ada" }
      }`
      expect((await send(source, text)).body).toMatchObject({ accepted: 1 })
      const [entry] = await recent(source)
      expect(entry?.event_message).toBe('[email] paid with [card], not 4111 1111 1111 1112')
      expect(entry?.metadata).toEqual({
        request: [{ headers: { host: 'h' } }, { headers: [{}] }],
        user: { name: '[redacted]', mail: ['[email]', '[card]'] },
        attributes: { 'http.url': '[redacted]', http: { url: 'kept' } },
        form: {},
        other: 'eve@example.com from [ip]',
        _other: { user: { name: '[redacted]' } },
      })
      const stored = await (await service().call(`/api/sources/${source}/recent`)).text()
      for (const secret of ['Ada', 'Eve', 'cookie', '4111111111111111']) expect(stored).not.toContain(secret)
    })

    test.each([
      ['message', 'event_message'],
      ['metadata.message', 'message'],
      ['metadata.project', 'project'],
      ['metadata.metadata.message', 'metadata'],
    ])('redact the path %s', async (redact, changed) => {
      const source = await sourceWith([{ redact }])
      const metadata = { message: 'kept', project: 'kept', metadata: { message: 'kept' } }
      await sendTo(source, { event_message: 'kept', metadata })
      const [entry] = await recent(source)
      const { event_message, ...stored } = { event_message: entry?.event_message, ...entry?.metadata }
      const different = Object.entries({ ...stored, event_message }).filter(
        ([, value]) => !JSON.stringify(value).includes('kept'),
      )
      expect(different).toEqual([[changed, expect.anything()]])
    })

    test('reach a message that is an object', async () => {
      const source = await sourceWith([
        { remove: 'secret' },
        { redact: 'body.token' },
        { mask: ['email'], in: ['event_message.user', 'lines'] },
      ])
      const object = { a: 1, secret: 's3cret', token: 't0ken', user: 'a@b.co', lines: [{ text: 'a@b.co' }] }
      const pairs = (value: object): object[] =>
        Object.entries(value).map(([key, text]) => ({ key, value: { stringValue: String(text) } }))
      const body = { kvlistValue: { values: pairs({ a: 1, secret: 's3cret', token: 't0ken' }) } }
      const otlp = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body }] }] }] }
      await service().call('/v1/logs', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Wellhead-Source': source },
        body: JSON.stringify(otlp),
      })
      expect((await recent(source)).map(({ event_message }) => event_message)).toEqual([
        '{"a":"1","token":"[redacted]"}',
      ])
      const broken = '{"secret":"kept", broken'
      await sendTo(
        source,
        { event_message: object },
        { event_message: JSON.stringify(object) },
        { event_message: ` \n${JSON.stringify(object)}\t` },
        { event_message: `\ufeff\u00a0${JSON.stringify(object)}` },
        { event_message: broken },
      )
      const left = '{"a":1,"token":"[redacted]","user":"[email]","lines":[{"text":"[email]"}]}'
      expect(await messagesOf(source)).toEqual(
        [broken, '{"a":"1","token":"[redacted]"}', ...Array(4).fill(left)].sort(),
      )
    })

    test('leave nothing in quarantine that they take out, however the entry is wrong', async () => {
      const source = await sourceWith([{ remove: 'password' }, { redact: 'token' }, { mask: ['email'] }])
      const secret = {
        password: 'hunter2',
        nested: { a: 1 },
        token: 't0ken',
        event_message: 'ada@example.com',
      }
      const wrong = [
        { ...secret, timestamp: 'ada@example.com' },
        { ...secret, timestamp: { password: 'hunter2' } },
        { ...secret, id: ['hunter2'] },
        { ...secret, id: 'x'.repeat(200) },
        { ...secret, project: { token: 't0ken' } },
        { ...secret, big: 'y'.repeat(2 ** 20) },
        { ...secret, deep: JSON.parse('['.repeat(100) + ']'.repeat(100)) },
        { ...secret, many: Array(6_000).fill(1) },
        [secret],
        JSON.stringify(secret),
      ].map((entry) => JSON.stringify(entry))
      const lines = [
        ...wrong,
        `{"half":"\\ud800",${JSON.stringify(secret).slice(1)}`,
        '{"password":"hunter2",',
      ]
      const types = { 'Content-Type': 'application/x-ndjson' }
      const { body } = await send(source, lines.join('\n'), types)
      expect(body).toMatchObject({ accepted: 0, rejected: lines.length })
      const kept = await rejectedOf(source)
      expect(kept).toHaveLength(lines.length)
      for (const text of kept) expect(text).not.toMatch(/hunter2|t0ken|ada@/)
      expect(kept).toContain(
        '{"timestamp":"[email]","event_message":"[email]","metadata":{"nested":{"a":1},"token":"[redacted]"}}',
      )
      expect(kept.filter((text) => text.startsWith('The text is not kept'))).toHaveLength(5)
    })

    test('keep no text of events that name a source that the sender may not send to, whether or not it exists', async () => {
      const source = await sourceWith([{ remove: 'a.secret' }])
      const { body } = await admin('POST', '/api/access-tokens', {
        scopes: ['ingest:edge_logs'],
        project: 'unnamed',
      })
      const events = [source, `${source}_not_there`, 'edge_logs'].map((name) => ({
        source: name,
        event_message: 'to whom?',
        a: { secret: 'SEKRET' },
      }))
      expect((await ask(service(), body.token, 'POST', '/api/logs', events)).body).toMatchObject({
        rejected: 2,
      })
      const kept = (await recent('quarantine', 1000)).filter(({ project }) => project === 'unnamed')
      expect(kept.map(({ event_message }) => event_message)).toEqual([
        expect.stringMatching(/^The text is not kept/),
        expect.stringMatching(/^The text is not kept/),
      ])
      const forged = await ask(
        service(),
        service().adminToken.token,
        'POST',
        '/api/logs?source=quarantine',
        {},
      )
      expect([forged.status, forged.body.error.code]).toEqual([403, 'forbidden'])
    })

    test('apply to NDJSON, to large bodies, to OTLP, and to live streams', async () => {
      const source = await sourceWith([{ drop: 'noise' }, { mask: ['email'] }])
      const stream = await service().call(`/api/sources/${source}/tail`)
      const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
      const lines = ['noise', 'ada@example.com 1'].map((event_message) => JSON.stringify({ event_message }))
      expect((await send(source, lines.join('\n'))).body).toMatchObject({ accepted: 1, dropped: 1 })
      let seen = ''
      await vi.waitFor(async () => {
        seen += (await reader?.read())?.value
        expect(seen).toContain('[email] 1')
      })
      await reader?.cancel()
      expect(seen).not.toMatch(/ada@|noise/)
      const large = Array.from({ length: 200 }, (_, index) => ({
        event_message: index % 2 === 0 ? 'noise' : 'ada@example.com 2',
        metadata: { text: 'z'.repeat(100) },
      }))
      expect(await sendTo(source, ...large)).toMatchObject({ accepted: 100, dropped: 100 })
      const records = (trace: string) => [
        { body: { stringValue: 'noise' } },
        {
          body: { stringValue: 'ada@example.com 3' },
          attributes: [{ key: 'm', value: { stringValue: 'b@c.de' } }],
        },
        { body: { stringValue: 'eve@example.com 4' }, traceId: trace },
      ]
      const otlp = await service().call('/v1/logs', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Wellhead-Source': source },
        body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: records('t'.repeat(100)) }] }] }),
      })
      expect(await otlp.json()).toEqual({
        partialSuccess: { rejectedLogRecords: '1', errorMessage: expect.stringContaining('trace_id') },
      })
      const drained = logflareDrain(source, [
        { event_message: 'noise' },
        { event_message: 'ada@example.com 5' },
      ])
      const types = { 'Content-Type': 'application/x-protobuf' }
      const drain = await service().call('/v1/logs', { method: 'POST', headers: types, body: drained })
      expect([drain.status, (await drain.arrayBuffer()).byteLength]).toEqual([200, 0])
      expect(
        await sendTo('', { source, event_message: 'noise' }, { source, event_message: 'f@g.de 6' }),
      ).toMatchObject({ accepted: 1, dropped: 1 })
      const messages = new Set(await messagesOf(source))
      expect([...messages]).toEqual(['[email] 1', '[email] 2', '[email] 3', '[email] 5', '[email] 6'])
      const [rejected, ...others] = await rejectedOf(source)
      expect([JSON.parse(rejected ?? '').event_message, others]).toEqual(['[email] 4', []])
    })

    test('change with the next request, and repeat the response of a key', async () => {
      const source = await sourceWith([{ drop: 'a' }])
      const body = JSON.stringify([{ event_message: 'a' }, { event_message: 'b' }])
      const first = await send(source, body, { 'Idempotency-Key': source })
      expect(first.body).toMatchObject({ accepted: 1, dropped: 1 })
      await admin('PATCH', `/api/sources/${source}`, { rules: [{ drop: 'b' }] })
      expect((await send(source, body, { 'Idempotency-Key': source })).body).toEqual(first.body)
      expect(await messagesOf(source)).toEqual(['b'])
      expect((await send(source, body)).body).toMatchObject({ accepted: 1, dropped: 1 })
      expect(await messagesOf(source)).toEqual(['a', 'b'])
      const { body: rules }: { body: AppliedRule[] } = await admin('GET', `/api/sources/${source}/rules`)
      expect(rules.map(({ entries }) => entries)).toEqual([1])
      await admin('PATCH', `/api/sources/${source}`, { rules: [] })
      expect((await send(source, body)).body).not.toHaveProperty('dropped')
    })

    test('are shown on the newest entries without changing anything', async () => {
      const source = await sourceWith([])
      await sendTo(
        source,
        { id: 'one', event_message: 'ada@example.com', metadata: { n: 12345678901234567890n.toString() } },
        { id: 'two', event_message: 'noise' },
        { id: 'three', event_message: 'other' },
      )
      const rules = [{ drop: 'noise' }, { mask: ['email'] }]
      const path = `/api/sources/${source}/rules/preview`
      const { body }: { body: Preview } = await admin('POST', path, { rules })
      expect(body.newest).toBe(3)
      expect(body.rules.map(({ entries }) => entries)).toEqual([1, 1])
      const after = Object.fromEntries(
        body.entries.map((one) => [one.before.id, one.after?.event_message ?? null]),
      )
      expect(after).toEqual({ one: '[email]', two: null })
      expect(await messagesOf(source)).toEqual(['ada@example.com', 'noise', 'other'])
      expect((await admin('POST', path)).body).toEqual({ newest: 3, rules: [], entries: [] })
      expect((await admin('POST', path, { rules: [{ drop: '(' }] })).status).toBe(400)
      expect((await admin('POST', '/api/sources/audit_events/rules/preview', { rules })).status).toBe(400)
    })

    test.each([
      ['a rule without an action', [{}], 'rules.0', 'exactly one of'],
      ['a rule with two', [{ drop: 'a', remove: 'b' }], 'rules.0', 'exactly one of'],
      ['an unknown action', [{ delete: 'a' }], 'rules.0.delete', 'Unknown field'],
      ['a search that is wrong', [{ mask: ['ip'] }, { drop: '(a' }], 'rules.1.drop', 'Unclosed bracket'],
      ['an empty search', [{ drop: ' ' }], 'rules.0.drop', 'empty'],
      ['a number where there is none', [{ drop: 'status:abc' }], 'rules.0.drop', 'holds numbers'],
      [
        'too many conditions',
        [{ drop: 'a '.repeat(30) }, { drop: 'b '.repeat(30) }],
        'rules.1.drop',
        'more than 50',
      ],
      ['a share of 1', [{ sample: 1 }], 'rules.0.sample', 'less than 1'],
      ['a condition on a drop', [{ drop: 'a', where: 'b' }], 'rules.0.where', 'sample'],
      ['a path of the entry itself', [{ remove: 'project' }], 'rules.0.remove', 'event_message'],
      ['the whole metadata', [{ redact: 'metadata' }], 'rules.0.redact', 'inside of'],
      ['an index', [{ remove: 'a[0]' }], 'rules.0.remove', 'keys with dots'],
      ['a wildcard', [{ mask: ['ip'], in: ['a.*'] }], 'rules.0.in.0', 'keys with dots'],
      ['an unclosed quote', [{ redact: '"a' }], 'rules.0.redact', 'keys with dots'],
      ['half a key in quotes', [{ redact: '"a"b' }], 'rules.0.redact', 'keys with dots'],
      ['the name of a column', [{ mask: ['ip'], in: ['ip', 'code'] }], 'rules.0.in.1', 'Write a.code, or'],
      ['an empty key', [{ redact: 'a..b' }], 'rules.0.redact', 'keys with dots'],
      ['an unknown mask', [{ mask: ['phone'] }], 'rules.0.mask.0', 'email'],
      ['51 rules', Array(51).fill({ drop: 'a' }), 'rules', 'at most 50'],
      ['5,000 rules', Array(5_000).fill({ drop: 'a' }), 'rules', 'at most 50'],
    ])('refuses %s', async (_, rules, parameter, message) => {
      const columns = [
        { name: 'status', path: 'status', type: 'number' },
        { name: 'code', path: 'a.code', type: 'text' },
      ]
      const { status, body } = await admin('POST', '/api/sources', {
        ...{ name: 'refused_rules', rules, columns },
      })
      expect([status, body.error.parameter]).toEqual([400, parameter])
      expect(body.error.message).toContain(message)
    })

    test.each(['audit_events', 'endpoint_requests', 'alert_events', 'quarantine'])(
      'refuses rules for %s',
      async (name) => {
        const { status, body } = await admin('PATCH', `/api/sources/${name}`, {
          rules: [{ drop: '*' }],
        })
        expect([status, body.error.message]).toEqual([
          400,
          expect.stringContaining(`${name} cannot have rules`),
        ])
      },
    )
  })

  describe('rules of a deployment', () => {
    const tokens = { LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private', LOGFLARE_PUBLIC_ACCESS_TOKEN: 'public' }
    const rules = [{ mask: ['email'] }, { drop: 'noise' }]
    let other: RunningService
    beforeAll(async () => {
      other = await openService({ environment: { ...tokens, WELLHEAD_DEFAULT_RULES: JSON.stringify(rules) } })
    })
    afterAll(() => other?.close())
    const { send, recent } = logClient(() => other)

    test('come before those of each source, also for the gateway, and for entries of sources that do not exist', async () => {
      await other.call('/api/sources/postgres_logs', {
        method: 'PATCH',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ rules: [{ drop: '"[email]" last' }] }),
      })
      const events = [
        { event_message: 'ada@example.com' },
        { event_message: 'ada@example.com last' },
        { event_message: 'noise' },
      ]
      const gateway = await fetch(`${other.url}/logflare/api/logs?source_name=postgres.logs&api_key=public`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(events),
      })
      expect(gateway.status).toBe(200)
      expect((await recent('postgres_logs')).map(({ event_message }) => event_message)).toEqual(['[email]'])
      const applied = (await (await other.call('/api/sources/postgres_logs/rules')).json()) as AppliedRule[]
      expect(applied.map(({ origin, entries }) => [origin, entries])).toEqual([
        ['deployment', 1],
        ['deployment', 1],
        ['source', 1],
      ])
      const named = [
        { source: 'unknown', event_message: 'eve@example.com' },
        { event_message: 'eve@example.com' },
        { source: 'edge_logs', event_message: 'kept' },
      ]
      await send('', JSON.stringify(named))
      const quarantined = (await recent('quarantine')).map(({ event_message }) => event_message)
      expect(quarantined).toHaveLength(2)
      for (const text of quarantined) expect(JSON.parse(text)).toMatchObject({ event_message: '[email]' })
    })

    test('stop the start if they are wrong', async () => {
      const start = (value: string) => openService({ environment: { WELLHEAD_DEFAULT_RULES: value } })
      await expect(start('[{"drop":"("}]')).rejects.toThrow(/WELLHEAD_DEFAULT_RULES: .*bracket/)
      await expect(start('{"drop":"a"}')).rejects.toThrow(/must be a JSON array of rules/)
    })
  })
}
