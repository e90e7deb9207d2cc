import type { TypedColumn } from '../../../src/core/catalog/source.ts'

export const columns: TypedColumn[] = [
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
export const alike = [
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
export const entries = values.map((value, index) => {
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
export const words = [
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
export const texts = [
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
export const comparisons = [
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
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

export function queryMaker(random: () => number) {
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
