import { setImmediate as giveWay } from 'node:timers/promises'
import { z } from 'zod'
import { reservedName } from '../../../shared/sql-tokens.ts'
import type { RequestAuthor } from '../../base/author.ts'
import type { Clock } from '../../base/clock.ts'
import { missingParameter, unknownParameter, type WellheadError } from '../../base/errors.ts'
import { must, readShape, text, valuesText } from '../../base/validation.ts'
import type { Result } from '../../cache/result.ts'
import { refuseAudit } from '../../definitions/visibility.ts'
import type { Engine } from '../../engine/engine.ts'
import { errorInTypedText } from '../../sql/errors.ts'
import { inferredTypes } from '../../sql/parameter-types.ts'
import { queryOf } from '../../sql/query.ts'
import { callOf } from '../call/call.ts'
import type { EndpointRunner } from '../call/endpoint-runner.ts'
import type { OutputFormat } from '../call/output-formats.ts'
import { definitionShape, parseDefinition } from '../definition/definition.ts'
import { compileEndpoint, type Endpoint, type KnownSources } from '../definition/endpoint.ts'
import { declarationsOf } from '../definition/parameter-declaration.ts'
import { endpointFields } from './endpoint-kind.ts'
import type { WarningsOf } from './endpoint-warnings.ts'

interface EndpointDraftsOptions {
  engine: Engine
  runner: EndpointRunner
  sources: () => KnownSources
  clock: Clock
  warningsOf: WarningsOf
}

export const previewShape = z.strictObject({
  endpoint: z.record(z.string(), z.unknown()).describe('Fields of the endpoint. The name is optional.'),
  parameters: z.record(z.string(), valuesText).default({}).describe('Values of the parameters.'),
})

const single = z.union([z.string(), z.number(), z.boolean()])
const isExact = (value: unknown) => !Number.isInteger(value) || Number.isSafeInteger(value)

const sqlValue = z
  .union([single, z.null(), z.array(single)], must('text, a number, true, false, null, or a list of these'))
  .refine((value) => [value].flat().every(isExact), {
    error: 'is too large for a JSON number. Send it as text and convert it in the SQL',
  })

export const sqlShape = z.strictObject(
  {
    query: text.describe('One SELECT over sources. Parameters are written `@name`.'),
    parameters: z
      .record(z.string(), sqlValue, must('an object with a value for each parameter'))
      .default({})
      .describe('A value for each parameter. Its type follows from the JSON; null is a null text.'),
    max_rows: definitionShape.shape.max_rows,
    timestamps: definitionShape.shape.timestamps,
  },
  must('a JSON object'),
)

const draftId = '00000000-0000-4000-8000-000000000000'
/** No other endpoint can have it. */
const draftName = 'wellhead.draft'

/** A draft must not keep the engine busy for as long as a saved endpoint can. */
const maxDraftSeconds = 30

/** A run of something that is not saved. It reads all projects. */
const unsaved = { project: undefined, retentionDays: undefined, purpose: 'preview' } as const

export type DraftAuthor = Pick<RequestAuthor, 'id' | 'isAdmin'>

export type EndpointDrafts = ReturnType<typeof endpointDrafts>

/** Checks and runs what is not saved. */
export function endpointDrafts({ engine, runner, sources, clock, warningsOf }: EndpointDraftsOptions) {
  /** Reads SQL in the caller's turn, after other requests were served. */
  const inTurn = ({ id: caller }: DraftAuthor, signal: AbortSignal, read: () => Promise<Endpoint>) =>
    runner.inTurn({ caller, signal }, async () => {
      await giveWay()
      return read()
    })

  const compile = async (
    by: DraftAuthor,
    body: unknown,
    onlyRun?: Parameters<typeof compileEndpoint>[4],
  ): Promise<Endpoint> => {
    const fields = endpointFields(body)
    refuseAudit(by, fields)
    const definition = parseDefinition({ name: draftName, ...fields, id: draftId })
    const timeout_seconds = Math.min(definition.timeout_seconds, maxDraftSeconds)
    try {
      return await compileEndpoint(engine, { ...definition, timeout_seconds }, 1, sources(), onlyRun)
    } catch (error) {
      throw errorInTypedText(error, String(fields.query))
    }
  }

  return {
    async check(body: unknown, by: DraftAuthor, signal: AbortSignal) {
      const { columns, compiled, definition } = await inTurn(by, signal, () => compile(by, body))
      const typed = String(endpointFields(body).query)
      const warnings = await warningsOf(definition, typed)
      const told = inferredTypes(queryOf(typed), sources().typedColumns)
      return { columns, parameters: compiled.names, types: Object.fromEntries(told), warnings }
    },

    async preview(body: unknown, format: OutputFormat, by: DraftAuthor, signal: AbortSignal) {
      const { endpoint: fields, parameters } = readShape(previewShape, body)
      const endpoint = await inTurn(by, signal, () => compile(by, fields))
      const call = callOf({ endpoint, parameters, format, caller: by.id, signal, ...unsaved })
      return { columns: endpoint.columns, result: await runner.run(call) }
    },

    /** Runs SQL that belongs to no endpoint. Its parameters get the types of their values. */
    async run(body: unknown, format: OutputFormat, by: DraftAuthor, signal: AbortSignal): Promise<Result> {
      const { query, parameters, ...settings } = readShape(sqlShape, body)
      const fields = { query, parameters: declarationsOf(parameters), ...settings }
      const sent = Object.entries(parameters).flatMap(([name, value]) =>
        value === null ? [] : [[name, valuesText.parse(value)] as const],
      )
      const onlyRun = { values: Object.fromEntries(sent), nowMicros: BigInt(clock.now()) * 1000n }
      const endpoint = await inTurn(by, signal, async () => {
        const used = queryOf(query).parameterNames
        const unused = Object.keys(parameters).find((name) => !used.includes(name) && name !== reservedName)
        const missing = used.filter((name) => !Object.hasOwn(parameters, name))
        if (missing[0] !== undefined) {
          throw unused === undefined
            ? missingParameter(missing[0], undefined, missing)
            : unusedParameter(unused, used)
        }
        const compiled = await compile(by, fields, onlyRun)
        // Errors of the SQL come first: in `:project`, they explain why the value is not used.
        if (unused !== undefined && !compiled.compiled.handed.has(unused)) throw unusedParameter(unused, used)
        return compiled
      })
      const { values, nowMicros } = onlyRun
      const call = callOf({
        endpoint,
        parameters: values,
        format,
        caller: by.id,
        signal,
        nowMicros,
        ...unsaved,
      })
      return runner.run(call)
    },
  }
}

function unusedParameter(name: string, used: readonly string[]): WellheadError {
  return unknownParameter(name, used, ` The SQL does not use @${name}.`)
}
