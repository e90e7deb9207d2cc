import { z } from 'zod'
import { readShape } from '../../base/validation.ts'
import type { Engine } from '../../engine/engine.ts'
import type { EndpointRunner, RunResult } from '../call/endpoint-runner.ts'
import { outputFormats } from '../call/output-formats.ts'
import { compileEndpoint, type Endpoint, type KnownSources } from '../definition/endpoint.ts'
import { fieldsOf, readFields } from '../definition/given-fields.ts'
import type { ResultColumn } from '../definition/result-columns.ts'
import { inTypedText } from '../definition/typed-text.ts'

export interface EndpointDraftsOptions {
  engine: Engine
  runner: EndpointRunner
  sources: () => KnownSources
}

/** What is known of an endpoint that is not saved. */
export interface DraftCheck {
  columns: readonly ResultColumn[]
  /** Parameters that the SQL uses, in the order of their first appearance. */
  parameters: readonly string[]
}

export interface DraftRun {
  columns: readonly ResultColumn[]
  answer: RunResult
}

export const previewShape = z.strictObject({
  endpoint: z.record(z.string(), z.unknown()),
  parameters: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .default({}),
})

const draftId = '00000000-0000-4000-8000-000000000000'
const draftName = 'draft'

/** A trial must not keep the engine busy for as long as a saved endpoint may. */
const maxTrialSeconds = 30

const [json] = outputFormats as [(typeof outputFormats)[number]]

/** Looks at endpoints that are being written, and tries them. Nothing of them is kept. */
export class EndpointDrafts {
  readonly #options: EndpointDraftsOptions

  constructor(options: EndpointDraftsOptions) {
    this.#options = options
  }

  /** Throws what is wrong with it, at its place in the text as it was typed. */
  async check(given: unknown, caller: string, signal: AbortSignal): Promise<DraftCheck> {
    const { columns, compiled } = await this.#compile(given, caller, signal)
    return { columns, parameters: compiled.names }
  }

  async preview(given: unknown, caller: string, signal: AbortSignal): Promise<DraftRun> {
    const { endpoint: fields, parameters } = readShape(previewShape, given)
    const endpoint = await this.#compile(fields, caller, signal)
    const values = endpoint.compiled.check(parameters)
    const answer = await this.#options.runner.run({
      endpoint,
      values,
      format: json,
      caller,
      project: undefined,
      signal,
      purpose: 'preview',
    })
    return { columns: endpoint.columns, answer }
  }

  async #compile(given: unknown, caller: string, signal: AbortSignal): Promise<Endpoint> {
    const { engine, runner, sources } = this.#options
    const fields = fieldsOf(given)
    const definition = readFields({ name: draftName, ...fields, id: draftId })
    const bounded = {
      ...definition,
      timeout_seconds: Math.min(definition.timeout_seconds, maxTrialSeconds),
    }
    try {
      return await runner.inTurn({ caller, signal }, () => compileEndpoint(engine, bounded, 1, sources()))
    } catch (error) {
      throw inTypedText(error, String(fields.query))
    }
  }
}
