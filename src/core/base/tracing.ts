import { randomBytes } from 'node:crypto'

/** A position in a trace, as in W3C Trace Context. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
  /** The tracestate header of other systems; may be empty. */
  readonly state: string
}

type TraceAttributes = Record<string, string | number | boolean>

export interface TraceSpan {
  readonly context: TraceContext
  child(name: string, attributes?: TraceAttributes): TraceSpan
  set(attributes: TraceAttributes): void
  /** Takes the error code of a failure. */
  end(failure?: string): void
}

export interface Tracing {
  start(name: string, parent: TraceContext | undefined, attributes: TraceAttributes): TraceSpan
  stop(): Promise<void>
}

const form = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/
const zeros = /^0+$/
const maxStateLength = 512

/** Reads the trace headers of a request. An invalid header is ignored, as W3C requires. */
export function readTraceContext(traceparent: string | undefined, tracestate = ''): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(traceparent ?? '') ?? []
  if (version === undefined || (version === '00' && more !== undefined)) return undefined
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined
  const fits = tracestate.length <= maxStateLength && /^[\x20-\x7e\t]*$/.test(tracestate)
  return { traceId, spanId, flags: Number.parseInt(flags, 16), state: fits ? tracestate : '' }
}

export function traceHeaders({ traceId, spanId, flags, state }: TraceContext): Record<string, string> {
  const sampled = (flags & 1).toString(16).padStart(2, '0')
  return {
    traceparent: `00-${traceId}-${spanId}-${sampled}`,
    ...(state !== '' && { tracestate: state }),
  }
}

/** A span of this service that is not exported, so that the trace of a caller reaches the engine and the log. */
export function passedOn(parent: TraceContext): TraceSpan {
  const span: TraceSpan = {
    context: { ...parent, spanId: randomBytes(8).toString('hex') },
    child: () => span,
    set: () => {},
    end: () => {},
  }
  return span
}
