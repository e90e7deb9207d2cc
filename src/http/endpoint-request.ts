import { type Caller, withFixedParameters } from '../access/caller.ts'
import { withDeadline } from '../base/clock.ts'
import type { CallResponse, EndpointCalls } from '../endpoints/call/endpoint-calls.ts'
import { type EndpointCall, parameterNames } from '../endpoints/call/prepared-call.ts'
import { refuseUnknown, type SentParameters } from './request-parameters.ts'
import type { RequestNotes } from './request-recorder.ts'

/** The call of a request, whichever route it takes. Throws if the caller may not send its parameters. */
export function endpointCall(
  caller: Caller,
  sent: SentParameters,
  strict: boolean,
  request: Omit<EndpointCall, 'parameters' | 'caller' | 'project'>,
): EndpointCall {
  const { endpoint } = request
  if (strict || endpoint.definition.strict) {
    refuseUnknown(sent, [...parameterNames(endpoint), ...Object.keys(caller.parameters)])
  }
  const parameters = withFixedParameters(caller, sent.parameters)
  return { ...request, parameters, caller: caller.id, project: caller.project }
}

/** Runs a call, or returns its cached result at once. Notes what statistics record. */
export function runCall(
  calls: EndpointCalls,
  call: EndpointCall,
  notes: RequestNotes,
): CallResponse | Promise<CallResponse> {
  const called = calls.call(call)
  if (!(called instanceof Promise)) {
    notes.response = called
    return called
  }
  const { endpoint, parameters, format, project } = call
  const explained = { endpoint, parameters, format, project, caller: explainer }
  notes.explain = () =>
    withDeadline(explainWithinMs, undefined, (signal) => calls.explain({ ...explained, signal }))
  return called.then((response) => {
    notes.response = response
    return response
  })
}

const explainWithinMs = 10_000
/** Explaining slow requests has a queue of its own. */
const explainer = 'wellhead:explaining'
