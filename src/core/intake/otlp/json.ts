import { invalidBody, WellheadError } from '../../base/errors.ts'
import { JsonScanner } from '../../base/json/json-scanner.ts'
import { type OtlpBudget, otlpLimits } from './budget.ts'

/** Also matches inside of strings, which costs a scan and nothing else. */
const mayHaveLongInteger = /[\s:,[]-?\d{16}/

export function parseJson(body: Buffer, budget: OtlpBudget): unknown {
  const text = new TextDecoder().decode(body)
  const mustScan = body.length > otlpLimits.maxFields || mayHaveLongInteger.test(text)
  try {
    const request = JSON.parse(mustScan ? scan(text, budget) : text)
    // A member may be null, but not the request.
    if (request === null) throw invalidBody('The body must be an object.')
    return request
  } catch (error) {
    if (error instanceof WellheadError) throw error
    // The parser's message quotes the body, which may be long and must not be logged.
    throw invalidBody('The body is not valid JSON.')
  }
}

/** Counts values before the parser creates them, and quotes integers that a double may not hold, such as nanoseconds. */
function scan(text: string, budget: OtlpBudget): string {
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner(bytes)
  const longIntegers: number[] = []
  scanner.longIntegers = longIntegers
  scanner.space()
  scanner.value()
  // Empty containers cost memory, too.
  budget.fields(scanner.values + scanner.emptyContainers)
  let quoted = ''
  let copiedTo = 0
  for (let at = 0; at < longIntegers.length; at += 2) {
    const [start, end] = [longIntegers[at] as number, longIntegers[at + 1] as number]
    quoted += `${bytes.toString('utf8', copiedTo, start)}"${bytes.toString('latin1', start, end)}"`
    copiedTo = end
  }
  return quoted + bytes.toString('utf8', copiedTo)
}
