import { many } from '../../support/engines.ts'

const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`
const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i])))
const paths = Array.from({ length: many(40, 12) }, (_, i) =>
  Object.fromEntries(Array.from({ length: 250 }, (_, k) => [`p${i * 250 + k}`, i])),
)
const mixed = [{ v: 1 }, { v: 'a' }, { v: [1, 'b'] }, { v: { w: 1 } }, { v: null }, { v: true }, { v: 1.5 }]
/** Bodies that are too deep, too wide, too many or of unusual types. */
export const hostileEntries = [
  `{"metadata":${deep}}`,
  `{"metadata":${wide}}`,
  JSON.stringify(paths.map((metadata) => ({ metadata }))),
  JSON.stringify(mixed.map((metadata) => ({ metadata }))),
  '{"metadata":{"huge":1e999}}',
  '{"metadata":{"huge":123456789012345678901234567890}}',
  '{"metadata":{"a%2Eb":1}}',
  '{"metadata":[1,2],"id":7,"project":null}',
  '{"metadata":{"a":{"b":1},"a.b":2}}',
  '{"metadata":{"twice":1,"twice":1234567890123456789}}',
]
