import { type Caller, withFixedParameters } from '../access/caller.ts'
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
  return called.then((response) => {
    notes.response = response
    return response
  })
}
