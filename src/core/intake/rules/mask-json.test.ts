import { isIPv6 } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type MaskName, maskNames } from '../../catalog/source-rules.ts'
import { isV6 } from './find-addresses.ts'
import { findCards } from './find-cards.ts'
import { maskJson } from './mask-json.ts'

/** The JSON text after masking, as characters. */
function masked(json: string, names: readonly MaskName[] = maskNames): string {
  const bytes = Buffer.from(json).toString('latin1')
  return Buffer.from(maskJson(bytes, names) ?? bytes, 'latin1').toString()
}

const maskedText = (text: string, names?: readonly MaskName[]) =>
  JSON.parse(masked(JSON.stringify(text), names)) as string

const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'

test.each([
  ['mail ada@example.com now', 'mail [email] now'],
  ["'o'brien+tag@mail.example.co.uk'", "'[email]'"],
  ['?user=ada%40example.com&x=1', '?user=[email]&x=1'],
  ['jürgen@müller.de, 联系a@b.co吧', '[email], 联系[email]吧'],
  ['<ada@example.com>.', '<[email]>.'],
  [
    'lodash@4.17.21 @scope/name a@ @b.co user@localhost',
    'lodash@4.17.21 @scope/name a@ @b.co user@localhost',
  ],
  ['from 10.0.0.1:8080 to 192.168.1.254.', 'from [ip]:8080 to [ip].'],
  ['1.2.3 1.2.3.4.5 256.1.1.1 12:30:45.123', '1.2.3 1.2.3.4.5 256.1.1.1 12:30:45.123'],
  ['[2001:db8::1]:443 fe80::1%eth0 ::1 ::ffff:10.0.0.1', '[[ip]]:443 [ip]%eth0 [ip] [ip]'],
  ['2001:db8:0:0:0:0:0:1:443, code:2001:db8::1, ip ::1.', '[ip]:443, code:[ip], ip [ip].'],
  ['std::vector A::B 00:1b:44:11:3a:b7 ::', 'std::vector A::B 00:1b:44:11:3a:b7 ::'],
  ['card 4111 1111 1111 1111, 5555-5555-5555-4444', 'card [card], [card]'],
  ['order 12 4111111111111111 12/27', 'order 12 [card] 12/27'],
  ['378282246310005 and 3782 822463 10005', '[card] and [card]'],
  [
    '4111111111111112 1700000000000000 41111111111111110000',
    '4111111111111112 1700000000000000 41111111111111110000',
  ],
  ['0.4111111111111111 a4111111111111111', '0.4111111111111111 a4111111111111111'],
  ['4111111111111111f 4111-1111-1111-1111abc', '4111111111111111f 4111-1111-1111-1111abc'],
  ['card4111111111111111, 4111111111111111USD', 'card[card], [card]USD'],
  ['%B4111111111111111^DOE/JOHN^2512101', '%B[card]^DOE/JOHN^2512101'],
  ['B4111111111111111^DOE %25B4111111111111111%5EDOE', 'B[card]^DOE %25B[card]%5EDOE'],
  [';4111111111111111=25121010000012300000?', ';[card]=25121010000012300000?'],
  ['4111.1111.1111.1111. 3782.822463.10005', '[card]. [card]'],
  ['v1.2.4111111111111111, no.4111111111111111.', 'v1.2.[card], no.[card].'],
  ['4111\u00a01111\u00a01111\u00a01111 4111\u202f1111\u202f1111\u202f1111', '[card] [card]'],
  ['4111\u20111111\u20111111\u20111111', '[card]'],
  ['4111  1111  1111  1111, 5555- 5555 -5555\u00a0\u20134444', '[card], [card]'],
  ['4111   1111   1111   1111 4111. 1111. 1111. 1111', '4111   1111   1111   1111 4111. 1111. 1111. 1111'],
  ['4111111.111111 52.5200066 411.1111 111.1111', '4111111.111111 52.5200066 411.1111 111.1111'],
  [`token ${jwt}, next`, 'token [jwt], next'],
  ['eyJ.eyJ.eyJ eyJhbGciOiJub25lIn0', 'eyJ.eyJ.eyJ eyJhbGciOiJub25lIn0'],
  ['Authorization: Bearer abc.DEF-123~+/== end', 'Authorization: Bearer [bearer] end'],
  ['bearer%20secret-token, the bearer of news', 'bearer%20[bearer], the bearer of news'],
  [`Bearer ${jwt}`, 'Bearer [jwt]'],
])('masks %s', (text, wanted) => {
  expect(maskedText(text)).toBe(wanted)
})

test('masks only what it is told to', () => {
  expect(maskedText('ada@example.com 10.0.0.1', ['ip'])).toBe('ada@example.com [ip]')
})

test('masks across escapes, and keeps all other bytes', () => {
  const json = String.raw`{"a":"\u0061da\u0040example.com \u00e9\/","b":"x\nBearer\u0020abcdefgh\ud83d\ude00","@c.de":1}`
  expect(masked(json)).toBe(
    String.raw`{"a":"[email] \u00e9\/","b":"x\nBearer\u0020[bearer]\ud83d\ude00","@c.de":1}`,
  )
})

test('masks numbers, and no keys', () => {
  expect(masked('{"4111111111111111":[4111111111111111,1.5,4111111111111112]}')).toBe(
    '{"4111111111111111":["[card]",1.5,4111111111111112]}',
  )
})

const letters = fc.stringMatching(/^[a-z]{1,12}$/)
const digits = (length: number) => fc.stringMatching(new RegExp(`^\\d{${length}}$`))

function withCheckDigit(number: string): string {
  for (let digit = 0; digit < 10; digit++) {
    const doubled = [...`${number}${digit}`].reverse().map((one, at) => Number(one) * (at % 2 === 1 ? 2 : 1))
    const sum = doubled.reduce((total, one) => total + (one > 9 ? one - 9 : one), 0)
    if (sum % 10 === 0) return `${number}${digit}`
  }
  throw new Error('unreachable')
}

const base64 = (min: number) => fc.stringMatching(new RegExp(`^[\\w-]{${min},40}$`))

const secrets: Record<MaskName, fc.Arbitrary<string>> = {
  email: fc
    .tuple(
      fc.stringMatching(/^[\w%+-][\w.%+-]{0,80}[\w]$/),
      letters,
      letters,
      fc.constantFrom('de', 'com', 'co.uk'),
    )
    .map(([local, sub, domain, top]) => `${local}@${sub}.${domain}.${top}`),
  ip: fc.oneof(
    fc.ipV4(),
    fc.ipV6().filter((address) => /\d/.test(address)),
  ),
  card: fc
    .tuple(fc.constantFrom('4', '51', '35', '6011'), digits(11), fc.constantFrom('', ' ', '-'))
    .map(([start, rest, by]) =>
      withCheckDigit(`${start}${rest}`.slice(0, 15)).replace(/(\d{4})(?=\d)/g, `$1${by}`),
    )
    .filter(
      (card) => card.replaceAll(/\D/g, '').length >= 13 && !/^\d{1,2}$/.test(card.split(/\D/).at(-1) ?? ''),
    ),
  jwt: fc.tuple(base64(8), base64(1), base64(1)).map(([head, body, sign]) => `eyJ${head}.${body}.${sign}`),
  bearer: fc.stringMatching(/^[\w.~+/-]{8,60}={0,2}$/),
}

/** JSON with any of its characters escaped. */
const escapedJson = (text: string) =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map((escapes) => {
    const units = Array.from({ length: text.length }, (_, at) => text[at] as string)
    const written = units.map((unit, at) => {
      const isHalf = /[\ud800-\udfff]/.test(unit)
      return escapes[at] && !isHalf
        ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
        : isHalf
          ? unit
          : JSON.stringify(unit).slice(1, -1)
    })
    return `"${written.join('')}"`
  })

test.each(maskNames)('never leaves a secret of the kind %s, and never changes other characters', (name) => {
  // What stands around has no character of any secret.
  const around = fc
    .stringMatching(/^[ß字\u{1f600}!?;"\\\n<>{}$#]{0,20}$/u)
    .map((text) => text.replaceAll('ß', ' '))
  const cases = fc
    .tuple(around, secrets[name], around)
    .map(([before, secret, after]) => ({
      before: `${before}${name === 'bearer' ? ' Bearer ' : ' '}`,
      secret,
      after: ` ${after}`,
    }))
    .chain(({ before, secret, after }) =>
      fc.record({
        before: escapedJson(before),
        secret: escapedJson(secret),
        after: escapedJson(after),
        plain: fc.constant(secret),
      }),
    )
  fc.assert(
    fc.property(cases, ({ before, secret, after, plain }) => {
      const json = `${before.slice(0, -1)}${secret.slice(1, -1)}${after.slice(1)}`
      const result = masked(json, [name])
      expect(result).toBe(`${before.slice(0, -1)}[${name}]${after.slice(1)}`)
      expect(result).not.toContain(plain)
    }),
  )
})

/** The rules of a card, tried on every part of a text. */
function cardsIn(text: string): string[] {
  const cards: string[] = []
  for (let start = 0; start < text.length; start++) {
    for (let end = start + 13; end <= Math.min(text.length, start + 32); end++) {
      if (isCardPart(text.slice(start, end)) && isWhole(text, start, end)) cards.push(`${start}-${end}`)
    }
  }
  return cards
}

function isCardPart(part: string): boolean {
  const groups = part.split(/[ \u00a0-]{1,2}|\./)
  const digits = groups.join('')
  if (!/^[2-6]\d{12,18}$/.test(digits) || withCheckDigit(digits.slice(0, -1)) !== digits) return false
  if (part.includes('.') && (groups.length < 3 || /[ \u00a0-]/.test(part))) return false
  return groups.length === 1 || groups.every(({ length }) => length >= 3 && length <= 7)
}

function isWhole(text: string, start: number, end: number): boolean {
  const [before, part, after] = [text.slice(0, start), text.slice(start, end), text.slice(end)]
  if (/\d$/.test(before) || /^\d/.test(after)) return false
  if (!part.includes('.') && /(?:^|[^a-z\d.])\d+\.$/i.test(before)) return false
  const words = [/[a-z\d]*[a-z]$/i.exec(before)?.[0], /^[a-z][a-z\d]*/i.exec(after)?.[0]]
  const isInHexadecimal = words.some(Boolean) && words.every((word) => !word || /^[a-f\d]+$/i.test(word))
  return !isInHexadecimal || after.startsWith('^') || before.at(-2) === '%'
}

test('finds exactly the cards that a search of every part of a text finds', () => {
  const pieces = fc.oneof(
    fc.constantFrom('4111', '1111', '411', '5', '12', '3782', '822463', '10005', '4111111111111111'),
    fc.constantFrom(' ', '-', '.', '\u00a0', '  ', '- ', '   ', ',', '^', '%', 'a', 'B', 'x', 'card'),
    secrets.card,
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 14 }), (parts) => {
      const text = parts.join('')
      const places: string[] = []
      findCards(text, (start, end) => places.push(`${start}-${end}`))
      expect(places.toSorted()).toEqual(cardsIn(text).toSorted())
    }),
    { numRuns: 2_000 },
  )
})

test('reads addresses of version 6 as Node does', () => {
  const pieces = fc.constantFrom(':', '::', '1', 'ab', '0', 'ffff', '1.2.3.4', '10.0.0.01', '.', '12345')
  const texts = fc.oneof(
    fc.array(pieces, { maxLength: 18 }).map((parts) => parts.join('')),
    fc.ipV6(),
  )
  fc.assert(
    fc.property(texts, (text) => {
      expect(isV6(`x${text}x`, 1, text.length + 1)).toBe(isIPv6(text) && /\d/.test(text))
    }),
    { numRuns: 2_000 },
  )
})

test('any JSON stays valid, and the same without secrets', () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const compact = JSON.stringify(JSON.parse(json))
      const result = masked(compact)
      JSON.parse(result)
      if (!/[@%:.]|\d{13}|bearer/i.test(compact)) expect(result).toBe(compact)
    }),
  )
})

test.each([
  ['@', 'a@'],
  ['percent', '%40'],
  ['a', 'a'],
  ['jwt', 'eyJ'],
  ['dots', '1.'],
  ['colons', '::1'],
  ['cards', '4 '],
  ['bearer', 'bearer '],
  ['backslash', '\\\\'],
  ['groups of four', '4111 '],
  ['groups of three', '411 '],
  ['wide groups', '4111  '],
  ['dotted groups', '4111.'],
  ['hexadecimal words', 'a4111111111111111'],
  ['words', 'x4111111111111111'],
  ['addresses', '::1 '],
])('reads a long text of %s in linear time', (_, piece) => {
  // Would take minutes otherwise.
  expect(masked(JSON.stringify(piece.repeat(200_000))).length).toBeGreaterThan(0)
})
