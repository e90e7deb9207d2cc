import { z } from 'zod'
import { readShape } from '../../base/validation.ts'
import type { Engine } from '../../engine/engine.ts'
import { errorInTypedText } from '../../sql/errors.ts'
import type { EndpointRunner } from '../call/endpoint-runner.ts'
import { outputFormats } from '../call/output-formats.ts'
import { parseDefinition, writableFields } from '../definition/definition.ts'
import { compileEndpoint, type Endpoint, type KnownSources } from '../definition/endpoint.ts'
import type { WarningsOf } from './endpoint-warnings.ts'

interface EndpointDraftsOptions {
  engine: Engine
  runner: EndpointRunner
  sources: () => KnownSources
  warningsOf: WarningsOf
}

export const previewShape = z.strictObject({
  endpoint: z.record(z.string(), z.unknown()),
  parameters: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .default({}),
})

const draftId = '00000000-0000-4000-8000-000000000000'
const draftName = 'draft'

/** A draft must not keep the engine busy for as long as a saved endpoint can. */
const maxDraftSeconds = 30

const [json] = outputFormats as [(typeof outputFormats)[number]]

/** Checks and runs endpoints that are being written. Nothing is saved. */
export class EndpointDrafts {
  readonly #options: EndpointDraftsOptions

  constructor(options: EndpointDraftsOptions) {
    this.#options = options
  }

  /** Errors and warnings have their position in the SQL as it was typed. */
  async check(body: unknown, caller: string, signal: AbortSignal) {
    const { columns, compiled, definition } = await this.#compile(body, caller, signal)
    const typed = String(writableFields(body).query)
    const warnings = await this.#options.warningsOf(definition, typed)
    return { columns, parameters: compiled.names, warnings }
  }

  async preview(body: unknown, caller: string, signal: AbortSignal) {
    const { endpoint: fields, parameters } = readShape(previewShape, body)
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

  async #compile(body: unknown, caller: string, signal: AbortSignal): Promise<Endpoint> {
    const { engine, runner, sources } = this.#options
    const fields = writableFields(body)
    const definition = parseDefinition({ name: draftName, ...fields, id: draftId })
    const bounded = {
      ...definition,
      timeout_seconds: Math.min(definition.timeout_seconds, maxDraftSeconds),
    }
    try {
      return await runner.inTurn({ caller, signal }, () => compileEndpoint(engine, bounded, 1, sources()))
    } catch (error) {
      throw errorInTypedText(error, String(fields.query))
    }
  }
}
