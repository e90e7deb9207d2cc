/** One kind of argument for a function. */
export interface Kind {
  /** A constant of about `size` elements or bytes. */
  constant(size: number): string
  /** The same, but with another value in each row of `numbers()`. */
  perRow(size: number): string
  /** Whether it depends on `size`. */
  sized: boolean
}

const sizedKind = (of: (size: number, seed: string) => string): Kind => ({
  constant: (size) => of(size, '1'),
  perRow: (size) => of(size, 'number'),
  sized: true,
})

const plain = (constant: string, perRow = constant): Kind => ({
  constant: () => constant,
  perRow: () => perRow,
  sized: false,
})

const half = (size: number) => Math.max(1, Math.floor(size / 2))
const points = (size: number, seed: string) =>
  `arrayMap(i -> (toFloat64((i * 7919 + ${seed}) % 360) - 180, toFloat64((i * 104729 + ${seed}) % 170) - 85), range(${size}))`
const ring = (size: number, seed: string) =>
  `arrayMap(i -> (50 * cos(2 * pi() * i / ${size}) + 10 * (i % 2), 50 * sin(2 * pi() * i / ${size}) + ${seed} % 3), range(${size}))`

/** Kinds of arguments by short name. */
export const kinds = {
  text: sizedKind((size, seed) => `concat(repeat('ab', ${half(size)}), toString(${seed}))`),
  other: sizedKind((size, seed) => `concat(toString(${seed}), repeat('ba', ${half(size)}))`),
  words: sizedKind(
    (size, seed) => `concat(repeat('ab c, d=e; ', ${Math.ceil(size / 10)}), toString(${seed}))`,
  ),
  digits: sizedKind((size) => `repeat('90', ${half(size)})`),
  url: sizedKind(
    (size, seed) =>
      `concat('https://a.b.c/', repeat('d/e?f=g&h=', ${Math.ceil(size / 10)}), toString(${seed}))`,
  ),
  json: sizedKind(
    (size, seed) => `concat('[', repeat('{"a":[1]},', ${Math.ceil(size / 10)}), toString(${seed}), ']')`,
  ),
  numbers: sizedKind((size, seed) => `arrayMap(i -> toInt64(i * 7919 + ${seed}) % ${size}, range(${size}))`),
  sorted: sizedKind((size, seed) => `range(toUInt32(${seed}), toUInt32(${seed}) + ${size})`),
  floats: sizedKind(
    (size, seed) => `arrayMap(i -> toFloat64((i * 7919 + ${seed}) % ${size}) / 3, range(${size}))`,
  ),
  bits: sizedKind((size, seed) => `arrayMap(i -> toUInt8((i + ${seed}) % 2), range(${size}))`),
  texts: sizedKind((size, seed) => `arrayMap(i -> toString(i * 7919 + ${seed}), range(${size}))`),
  nested: sizedKind((size, seed) => `arrayMap(i -> range(i % 10), range(${half(size)} + ${seed} % 2))`),
  pairs: sizedKind((size, seed) => `arrayMap(i -> (toInt64(i + ${seed}), toInt64(i)), range(${size}))`),
  map: sizedKind(
    (size, seed) => `mapFromArrays(arrayMap(i -> toString(i + ${seed}), range(${size})), range(${size}))`,
  ),
  numberMap: sizedKind(
    (size, seed) => `mapFromArrays(range(${size}), arrayMap(i -> toUInt64(i + ${seed}), range(${size})))`,
  ),
  bitmap: sizedKind(
    (size, seed) => `bitmapBuild(arrayMap(i -> toUInt32(i * 7919 + ${seed}), range(${size})))`,
  ),
  points: sizedKind(points),
  ring: sizedKind(ring),
  polygon: sizedKind((size, seed) => `[${ring(size, seed)}]`),
  polygons: sizedKind((size, seed) => `[[${ring(size, seed)}]]`),
  object: sizedKind(
    (size, seed) =>
      `concat('{"a":', toString(${seed}), arrayStringConcat(arrayMap(i -> concat(',"', toString(i), '":1'), range(${size}))), '}')`,
  ),
  ranges: sizedKind((size) => `arrayMap(i -> (toInt64(1), toUInt64(${size})), range(${size}))`),
  tangled: sizedKind((size, seed) => `[[${points(size, seed)}]]`),
  encoded: sizedKind((size) => `repeat('abab', ${Math.ceil(size / 4)})`),
  wkt: sizedKind((size) => `wkt([[${ring(size, '1')}]])`),
  count: { constant: String, perRow: (size) => `${size} + number % 2`, sized: true } satisfies Kind,
  number: plain('7', 'toUInt32(number)'),
  float: plain('0.7', 'number / 7'),
  date: plain("toDate('2026-01-01')", "toDate('2026-01-01') + number % 100"),
  time: plain("toDateTime('2026-01-01 00:00:00')", "toDateTime('2026-01-01 00:00:00') + number"),
  later: plain("toDateTime64('2026-06-01 00:00:00', 6)", "toDateTime64('2026-06-01 00:00:00', 6) + number"),
  short: plain("'b'", 'toString(number)'),
  pattern: plain("'(a|b)*[^c]+(a|ab)'"),
  unit: plain("'day'"),
  tuple: plain('(1, 2)', '(number, number + 1)'),
  point: plain('(1.5, 2.5)', '(number / 7, number / 9)'),
  texts2: plain("['ab', 'bc']"),
  uuid: plain("toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')"),
  address: plain("toIPv6('2001:db8::1')"),
  one: plain('i -> i + 1'),
  two: plain('(i, j) -> i + j'),
  condition: plain('i -> toUInt8(i % 2)'),
  pairCondition: plain('(i, j) -> j > 1'),
  pairOf: plain('(i, j) -> (i, j)'),
  fold: plain('(i, j) -> i + j'),
  start: plain('toInt64(0)', 'toInt64(number)'),
  first: plain('1'),
  edits: plain('2'),
  aggregate: plain("'uniqExact'"),
  type: plain("'Int64'"),
  jsonType: plain("'Array(Dynamic)'"),
  jsonPath: plain("'$[*].a'"),
  mode: plain("'aes-128-ecb'"),
  key: plain("'0123456789abcdef'"),
  dateText: plain("'2026-01-01 00:00:00'"),
  dateFormat: plain("'%Y-%m-%d %H:%i:%s'"),
  zone: plain("'UTC'"),
  interval: plain('toIntervalSecond(7)', 'toIntervalSecond(number % 100 + 1)'),
  cell: plain('toUInt64(590080540275638271)'),
  otherCell: plain('toUInt64(590103561300344831)'),
  decimal: plain('toDecimal64(7.5, 3)', 'toDecimal64(number, 3)'),
  dynamic: plain("CAST(7, 'Dynamic')"),
  prefix: plain("'192.168.0.0/16'"),
  ip: plain("'192.168.5.2'"),
} satisfies Record<string, Kind>

export type KindName = keyof typeof kinds

const lists = (text: string): KindName[][] =>
  text
    .trim()
    .split(/\s*\n\s*/)
    .map((line) => line.split(' ') as KindName[])

/** Argument lists for ordinary functions, most likely first. */
export const ordinaryShapes = lists(`
  text
  numbers
  count
  texts
  map
  polygon
  polygons
  ring
  bitmap
  time
  words
  json
  url
  nested
  pairs
  tuple
  float
  digits
  bits
  uuid
  address
  text other
  numbers numbers
  texts texts
  words short
  numbers number
  count count
  one numbers
  condition numbers
  text count
  count text
  count short
  numbers count
  texts short
  short texts
  polygon polygon
  polygons polygons
  ring ring
  points points
  tangled tangled
  point polygon
  bitmap bitmap
  bitmap numbers
  bitmap number
  map map
  map short
  numberMap number
  floats bits
  floats floats
  number numbers
  text pattern
  text texts2
  url short
  json short
  time number
  time count
  time short
  date date
  unit time
  tuple tuple
  tuple number
  nested numbers
  polygon number
  text other short
  numbers numbers numbers
  text number count
  text short other
  text pattern short
  words short count
  numbers number count
  sorted number number
  count count count
  two numbers numbers
  fold numbers number
  bitmap number count
  bitmap numbers numbers
  time count number
  unit time later
  unit number time
  words short short
  floats bits number
  numbers numbers number
  float float count
  short text short
  text other number
  texts texts floats
  numbers numbers floats floats
  texts texts floats floats
  count count count count
  float float float float
  text number number short
  text pattern short short
  float float float float count
  float float number number number
  floats number
  encoded
  dateText
  dateText dateFormat
  dateText zone
  text type
  number type
  dynamic
  dynamic type
  object
  object object
  json type
  json jsonType
  json jsonPath
  object short
  wkt
  cell
  cell number
  cell count
  cell otherCell
  ring number number
  time interval
  time zone
  later zone
  later
  interval time
  tuple first
  decimal decimal
  ip
  ip prefix
  number numbers
  aggregate numbers
  aggregate ranges numbers
  fold numbers start
  number texts
  condition number numbers
  numbers numbers number
  number numbers numbers number
  pairCondition map
  fold number map
  pairOf map
  map pattern
  text edits texts2
  text zone zone
  mode text key
  text number number number number
  float numbers
  float numbers number
  floats texts
  floats numbers numbers
  time later number
  time later number floats
  time number count
  bits numbers
  short words
  point point
  float float float float float float
`)

/** Argument lists for aggregate functions, most likely first. */
export const aggregateArguments = [
  'number',
  'number / 7',
  'toString(number)',
  'number, number % 2',
  'sipHash64(number) / 7, number % 2',
  'toString(number), number',
  'number, toString(number % 100)',
  'toDateTime(number), number',
  'toDateTime64(number, 3), number / 7',
  'range(number % 10)',
  'range(5), range(5)',
  'map(number % 1000, number)',
  '(number / 7, number / 9)',
  'bitmapBuild([toUInt32(number)])',
  'number, number, number',
  'toDateTime(number), number % 2 = 0, number % 3 = 0',
  'number % 2 = 0, number % 3 = 0',
  'toDateTime(number), toString(number), number % 2 = 0, number % 3 = 0',
  '',
  'number, number',
  'toDateTime(number), number / 7',
  'number / 7, toDateTime64(number, 3)',
  'number, 3',
]

/** Parameters for aggregate functions, as in quantile(0.5)(…). */
export const aggregateParameters = [
  '',
  "'two-sided', 'exact'",
  "'two-sided'",
  '0.5',
  '100000',
  '0.5, 0.9',
  '2',
  '1, 100',
  "'(?1)(?t<=1)(?2).*(?1).*(?2)'",
  '1000000, 10',
  '0, 1000000, 1, 100000',
  "'forward', 'head'",
  '0, 1000000, 1, 1000000',
  '0, 1000000, 1, 1000000, 100',
  '[1, 2]',
  '100, 0.5, 0.9',
  '1., 1., 0.9',
]

/** Frames of window functions: work grows with the rows before each row. */
export const frames = ['ORDER BY number', 'ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING']
