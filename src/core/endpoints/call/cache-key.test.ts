import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CacheKeyParts, cacheKey } from './call.ts'

const call: CacheKeyParts = {
  endpointId: '6f1c0000-0000-7000-8000-000000000000',
  tag: 'one',
  tenant: null,
  retentionDays: null,
  parameters: { project: 'demo', interval: '1day', function_id: null },
  format: 'json',
}

describe('a cache key', () => {
  test('is a SHA-256 that does not depend on the order of parameters', () => {
    expect(cacheKey(call)).toMatch(/^[0-9a-f]{64}$/)
    const parameters = { function_id: null, interval: '1day', project: 'demo' }
    expect(cacheKey({ ...call, parameters })).toBe(cacheKey(call))
  })

  test.each<Partial<CacheKeyParts>>([
    { endpointId: '6f1c0000-0000-7000-8000-000000000001' },
    { tag: 'other' },
    { tenant: '' },
    { tenant: 'null' },
    { format: 'csv' },
    { parameters: { ...call.parameters, project: 'Demo' } },
    { parameters: { ...call.parameters, function_id: '' } },
    { parameters: { ...call.parameters, function_id: 'null' } },
    { parameters: { ...call.parameters, function_id: Number.NaN } },
    { parameters: { project: 'demo', interval: '1day' } },
  ])('differs with %j', (change) => {
    expect(cacheKey({ ...call, ...change })).not.toBe(cacheKey(call))
  })

  test('differs for different calls', () => {
    const text = fc.string({ unit: fc.constantFrom(...'a"\\,[]:{}=\u0000\ud800') })
    const value = fc.oneof(text, fc.constant(null), fc.boolean(), fc.double(), fc.bigInt())
    const parts = fc.record({
      endpointId: text,
      tag: fc.constantFrom('', 'a', 'b'),
      tenant: fc.option(text),
      retentionDays: fc.option(fc.constantFrom(1, 7)),
      parameters: fc.dictionary(text, value),
      format: text,
    })
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const same = inspected(a) === inspected(b)
        expect(cacheKey(a) === cacheKey(b)).toBe(same)
      }),
    )
  })
})

function inspected({ endpointId, tag, tenant, retentionDays, parameters, format }: CacheKeyParts): string {
  const values = Object.entries(parameters)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, typeof value, String(value)])
  return JSON.stringify([endpointId, tag, tenant, retentionDays, values, format])
}
