import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { type Dice, nastyTexts } from './dice.ts'
import { mutatedBytes, mutatedText, mutatedValue, nested } from './mutations.ts'
import { type NamedValues, type Schema, type SchemaSource, schemaValue } from './schema-value.ts'

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
  example?: unknown
}

interface OperationObject {
  parameters?: readonly Parameter[]
  requestBody?: { content: Readonly<Record<string, { schema?: Schema; example?: unknown }>> }
}

export interface ApiDocument {
  paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  components: { schemas: Readonly<Record<string, Schema>> }
}

export interface FuzzedRequest {
  /** The OpenAPI operation that it was made from. */
  operation: string
  method: string
  bytes: Buffer
  /** Whether the service can tell where the request ends. If not, it may wait for more. */
  framed: boolean
}

export interface FuzzSource {
  document: ApiDocument
  dice: Dice
  tokens: readonly string[]
  /** Values by name of the parameter or field. */
  named: NamedValues
  /** Operations to leave out. */
  without?: readonly string[]
}

/** Makes requests from the OpenAPI document and mutates most of them. */
export function requestFuzzer(source: FuzzSource): () => FuzzedRequest {
  const { document, dice } = source
  const operations = Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method: method.toUpperCase(),
        operation,
      })),
    )
    .filter(({ path, method }) => !source.without?.includes(`${method} ${path}`))
  const values: SchemaSource = {
    dice,
    named: source.named,
    resolve: (reference) => document.components.schemas[reference.split('/').at(-1) ?? ''] ?? {},
  }
  return () => {
    const { path, method, operation } = dice.pick(operations)
    const usual = dice.percent(25)
    const sometimes = (chance: number) => !usual && dice.percent(chance)
    const headers: [string, string][] = [['Host', 'x']]
    if (!sometimes(5)) headers.push(tokenHeader(source))
    const target = targetOf(path, operation.parameters ?? [], values, sometimes)
    for (const parameter of operation.parameters ?? []) {
      if (parameter.in === 'header' && dice.percent(50)) {
        headers.push([parameter.name, headerText(parameter, values, sometimes(50))])
      }
    }
    if (sometimes(20)) headers.push(dice.pick(oddHeaders))
    const body = bodyOf(operation, values, sometimes, headers)
    const sentMethod = sometimes(5) ? dice.pick(otherMethods) : method
    return {
      operation: `${method} ${path}`,
      method: sentMethod,
      ...written({ method: sentMethod, target, headers, body }, dice, sometimes),
    }
  }
}

type Sometimes = (chance: number) => boolean

const otherMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'get']

const oddHeaders: readonly [string, string][] = [
  ['Accept', 'text/csv'],
  ['Accept', 'application/x-ndjson;q=0.5, */*;q=x'],
  ['Accept', ',;q=,*'],
  ['Accept', 'text/event-stream'],
  ['Accept-Encoding', 'gzip;q=0, br, ***'],
  ['Cache-Control', 'no-cache, max-age=-1, only-if-cached=1'],
  ['Cache-Control', 'only-if-cached'],
  ['Cache-Control', 'max-age=99999999999999999999'],
  ['If-None-Match', '"*", W/'],
  ['If-Match', '"1"'],
  ['If-Match', '*'],
  ['Range', 'bytes=0-0'],
  ['Expect', '100-continue'],
  ['Expect', '200-ok'],
  ['Upgrade', 'websocket'],
  ['Connection', 'Upgrade, HTTP2-Settings'],
  ['Connection', 'close'],
  ['Content-Encoding', 'br'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', 'multipart/form-data; boundary=x'],
  ['Content-Type', ';;='],
  ['X-Request-Id', 'x'.repeat(70)],
  ['traceparent', '00-zz-zz-99'],
  ['Origin', 'null'],
  ['Last-Event-ID', '\u00ff'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Transfer-Encoding', 'identity'],
  ['__proto__', 'x'],
  ['Cookie', '='.repeat(200)],
]

function tokenHeader({ tokens, dice }: FuzzSource): [string, string] {
  const token = dice.pick(tokens)
  return dice.percent(80) ? ['X-API-KEY', token] : ['Authorization', `Bearer ${token}`]
}

function headerText(parameter: Parameter, values: SchemaSource, odd: boolean): string {
  const value = odd ? values.dice.pick(nastyTexts) : schemaValue(parameter.schema, values, parameter.name)
  // Invalid header bytes would make the request unreadable; `mutatedBytes` covers that.
  return String(value).replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
}

function targetOf(
  path: string,
  parameters: readonly Parameter[],
  values: SchemaSource,
  sometimes: Sometimes,
): string {
  const { dice } = values
  let target = path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name)
    const value = sometimes(15)
      ? dice.pick(nastyTexts)
      : schemaValue({ ...parameter?.schema, example: parameter?.example }, values, name)
    return sometimes(3) ? String(value) : encoded(String(value))
  })
  const pairs: string[] = []
  for (const { name, schema, in: place, example } of parameters) {
    if (place !== 'query' || !dice.percent(60)) continue
    const given = example ?? (sometimes(30) ? dice.pick(nastyTexts) : schemaValue(schema, values, name))
    for (const [key, value] of typeof given === 'object' && given ? Object.entries(given) : [[name, given]]) {
      pairs.push(`${encoded(String(key))}=${encoded(String(value))}`)
    }
  }
  if (sometimes(20)) pairs.push(`${encoded(dice.pick(nastyTexts))}=${encoded(dice.pick(nastyTexts))}`)
  if (sometimes(5) && pairs[0] !== undefined) pairs.push(pairs[0])
  if (sometimes(3))
    pairs.push(dice.pick(['%', '%zz=%00', '&&&===', '=', 'a=%ff%fe', '#', 'a[b]=c', 'a[]=1&a[]=2']))
  if (pairs.length > 0) target += `?${pairs.join('&')}`
  if (sometimes(5)) target = mutatedText(target, dice)
  // Spaces and line breaks would end the request line.
  return target.replace(/[^\x21-\x7e]/g, (character) => encoded(character))
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

function bodyOf(
  { requestBody }: OperationObject,
  values: SchemaSource,
  sometimes: Sometimes,
  headers: [string, string][],
): Buffer | undefined {
  const { dice } = values
  if (!requestBody) {
    if (!sometimes(5)) return undefined
    headers.push(['Content-Type', 'application/json'])
    return Buffer.from(dice.pick(['{}', 'null', '', '[1]', '"x"', '{']))
  }
  const [type, { schema = {}, example }] = dice.pick(Object.entries(requestBody.content)) as [
    string,
    { schema?: Schema; example?: unknown },
  ]
  let value = example !== undefined && dice.percent(30) ? example : schemaValue(schema, values)
  for (let times = sometimes(70) ? 1 + dice.below(3) : 0; times > 0; times--)
    value = mutatedValue(value, dice)
  let text = JSON.stringify(value) ?? 'null'
  if (sometimes(8)) text = mutatedText(text, dice)
  if (sometimes(3)) text = nested(dice)
  let bytes: Buffer = Buffer.from(text)
  if (sometimes(5)) bytes = mutatedBytes(bytes, dice)
  if (sometimes(2)) bytes = Buffer.from(text, 'utf16le')
  if (sometimes(2)) bytes = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])
  headers.push([
    'Content-Type',
    sometimes(8)
      ? dice.pick(['text/plain', 'application/x-protobuf', 'application/json;charset=x', '', type])
      : type,
  ])
  return packed(bytes, dice, sometimes, headers)
}

function packed(bytes: Buffer, dice: Dice, sometimes: Sometimes, headers: [string, string][]): Buffer {
  if (!sometimes(12)) return bytes
  const [name, pack] = dice.pick([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['gzip', (plain: Buffer) => plain],
    ['gzip', (plain: Buffer) => mutatedBytes(gzipSync(plain), dice)],
    ['identity', (plain: Buffer) => plain],
    ['zstd', (plain: Buffer) => plain],
    ['gzip, gzip', (plain: Buffer) => gzipSync(gzipSync(plain))],
  ] as const)
  headers.push(['Content-Encoding', name])
  return pack(bytes)
}

interface Parts {
  method: string
  target: string
  headers: [string, string][]
  body: Buffer | undefined
}

function written({ method, target, headers, body }: Parts, dice: Dice, sometimes: Sometimes) {
  const chunked = body !== undefined && sometimes(10)
  let framed = true
  if (chunked) headers.push(['Transfer-Encoding', 'chunked'])
  else if (body !== undefined) {
    const wrong = sometimes(3)
    framed = !wrong
    headers.push([
      'Content-Length',
      wrong ? dice.pick(['-1', '0', '1', '99', '1e9', '']) : String(body.length),
    ])
  }
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ]
  const head = Buffer.from(lines.join('\r\n'), 'latin1')
  const sent = body && (chunked ? inChunks(body, dice) : body)
  let bytes: Buffer = sent ? Buffer.concat([head, sent]) : head
  // After an upgrade and the like, the connection cannot be used again.
  if (
    headers.some(
      ([name, value]) => /^(?:upgrade|expect|transfer-encoding)$/i.test(name) || /upgrade/i.test(value),
    )
  ) {
    framed = false
  }
  if (sometimes(3)) {
    framed = false
    bytes = mutatedBytes(bytes, dice)
  }
  return { bytes, framed }
}

function inChunks(body: Buffer, dice: Dice): Buffer {
  const size = 1 + dice.below(Math.max(1, body.length))
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.subarray(at, at + size)
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}
