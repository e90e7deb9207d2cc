import { describe, expect, test } from 'vitest'
import { passedOn, readTraceContext, traceHeaders } from './tracing.ts'

const trace = '0af7651916cd43dd8448eb211c80319c'
const span = 'b7ad6b7169203331'
const valid = `00-${trace}-${span}-01`

describe('readTraceContext', () => {
  test('reads a W3C trace, which continues under a span of this service', () => {
    const context = readTraceContext(valid, 'vendor=1')
    expect(context).toEqual({ traceId: trace, spanId: span, flags: 1, state: 'vendor=1' })
    const own = passedOn(context as NonNullable<typeof context>)
    expect(own.context.spanId).toMatch(/^(?!b7ad6b7169203331|0{16})[\da-f]{16}$/)
    expect(traceHeaders(own.child('engine').context)).toEqual({
      traceparent: `00-${trace}-${own.context.spanId}-01`,
      tracestate: 'vendor=1',
    })
  })

  test('accepts longer headers of newer versions, and drops unknown flags', () => {
    const context = readTraceContext(`cc-${trace}-${span}-ff-what-the-future-brings`)
    expect(traceHeaders(context as NonNullable<typeof context>).traceparent).toBe(valid)
  })

  test.each([
    '',
    'no trace',
    `${valid}-more`,
    `ff-${trace}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${trace.slice(1)}-${span}-01`,
    `00-${trace}-${span}-0`,
    `00-${trace}-${span}-01\n`,
  ])('ignores %j', (header) => {
    expect(readTraceContext(header)).toBeUndefined()
  })

  test('drops a state that is too long or not valid in a header', () => {
    expect(readTraceContext(valid, 'x'.repeat(513))?.state).toBe('')
    expect(readTraceContext(valid, 'a=ü')?.state).toBe('')
  })
})
