import { randomBytes } from 'node:crypto'

/** A place in a trace, as W3C Trace Context passes it on. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
  /** What other systems want to be passed on; empty where there is nothing. */
  readonly state: string
}

export type TraceAttributes = Record<string, string | number | boolean>

/** A piece of work in a trace. */
export interface TraceSpan {
  readonly context: TraceContext
  child(name: string, attributes?: TraceAttributes): TraceSpan
  set(attributes: TraceAttributes): void
  /** With a failure, the code of the error. */
  end(failure?: string): void
}

/** Makes spans and sends them to whoever collects them. */
export interface Tracing {
  start(name: string, parent: TraceContext | undefined, attributes: TraceAttributes): TraceSpan
  stop(): Promise<void>
}

const form = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/
const zeros = /^0+$/
const maxStateLength = 512

/** Reads the headers of a request. One that is not valid counts as none, as the recommendation wants it. */
export function readTraceContext(traceparent: string | undefined, tracestate = ''): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(traceparent ?? '') ?? []
  if (version === undefined || (version === '00' && more !== undefined)) return undefined
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined
  const fits = tracestate.length <= maxStateLength && /^[\x20-\x7e\t]*$/.test(tracestate)
  return { traceId, spanId, flags: Number.parseInt(flags, 16), state: fits ? tracestate : '' }
}

/** The headers that pass it on. */
export function traceHeaders({ traceId, spanId, flags, state }: TraceContext): Record<string, string> {
  const sampled = (flags & 1).toString(16).padStart(2, '0')
  return {
    traceparent: `00-${traceId}-${spanId}-${sampled}`,
    ...(state !== '' && { tracestate: state }),
  }
}

/** The part of this service in a trace that others keep: it has a name in it, and is told to nobody. */
export function passedOn(parent: TraceContext): TraceSpan {
  const span: TraceSpan = {
    context: { ...parent, spanId: newSpanId() },
    child: () => span,
    set: () => {},
    end: () => {},
  }
  return span
}

function newSpanId(): string {
  let id: string
  do id = randomBytes(8).toString('hex')
  while (zeros.test(id))
  return id
}
