import { z } from 'zod'
import { rotationShape, type TokenFields, tokenChangeShape, tokenShape } from '../../access/token.ts'
import type { TokenView } from '../../access/token-admin.ts'
import { newSourceShape, sourceChangeShape, sourceShape } from '../../catalog/source.ts'
import type { EndpointPlan } from '../../endpoints/call/endpoint-runner.ts'
import { definitionShape, type EndpointDefinition } from '../../endpoints/definition/definition.ts'
import { parameterShape } from '../../endpoints/definition/parameter-declaration.ts'
import type { EndpointView } from '../../endpoints/manage/endpoint-admin.ts'
import type { IntakeOutcome } from '../../intake/entry-store.ts'
import type { SlowCall } from '../../observability/slow-calls.ts'
import type { SourcePath } from '../../sources/source-admin.ts'
import type { JsonPath } from '../../sql/paths.ts'
import type { EngineStatus } from '../status.ts'
import { deploymentSchemas } from './deployment.ts'
import { joined, type Notes, type ObjectSchema, schemaOf, withFields } from './shape.ts'

const parameterNotes: Notes = {
  type: 'How the value is read.',
  required: 'Whether leaving it out is an error.',
  default: 'Its value if it is left out. Without one it is null.',
  enum: 'The values that are allowed.',
  empty_is_omitted: 'Whether the empty text counts as left out.',
  description: 'For people who call the endpoint.',
  example: 'A value that makes sense.',
}

const endpointNotes: Notes = {
  id: 'Stays when the name changes. The service chooses one if it is left out.',
  name: 'Unique; callers may use it in place of the id.',
  description: 'What the endpoint is for.',
  query: 'One SELECT over sources, with parameters written `@name`.',
  parameters: 'What callers may send, by name.',
  max_rows: 'Most rows of a result. A longer one is cut.',
  cache_seconds: 'How long a result is kept; null: not at all.',
  warm_seconds: 'How often a kept result is renewed before anybody asks; null: never.',
  incremental:
    'Promise that rows are buckets of time, so that a result is renewed by its newest part; null: none.',
  timeout_seconds: 'How long the query may run.',
  json: 'Columns whose text is JSON and is returned as JSON. `metadata` always is.',
  sandbox: 'Whether callers may send a SELECT of their own over the views of the query.',
  version: 'Counts the changes.',
  columns: 'Columns of its rows, with the types of the engine.',
  created_at: 'When it was made.',
  updated_at: 'When it got this version.',
  updated_by: 'Id of the token that made this version.',
}

const instant = z.iso.datetime()
const sentParameter = schemaOf(parameterShape, 'input', parameterNotes)
const madeEndpoint: z.ZodType<Omit<EndpointView, keyof EndpointDefinition>> = z.object({
  version: z.int().min(1),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  created_at: instant,
  updated_at: instant,
  updated_by: z.string(),
})

const tokenNotes: Notes = {
  id: 'Names the token; it is no secret.',
  description: 'What the token is for.',
  scopes: '`admin`, `query`, `query:<endpoint>`, `ingest` or `ingest:<source>`.',
  project: 'The only project whose rows it reads and whose entries it sends; null: any.',
  parameters: 'Values of parameters that its callers cannot choose.',
  expires_at: 'From then on it is not valid; null: never.',
  requests_per_minute: 'How many requests it may make; null: any number.',
  created_at: 'When it was made.',
  updated_at: 'When it was last changed.',
  last_used_at: 'When it was last used; null: never.',
  previous_valid_until: 'Until then the secret from before the last rotation works, too.',
  token: 'The secret. It is told this once.',
}

const madeToken: z.ZodType<Omit<TokenView, keyof TokenFields>> = z.object({
  id: z.uuid(),
  created_at: instant,
  updated_at: instant,
  last_used_at: instant.nullable(),
  previous_valid_until: instant.nullable(),
})

const sourceNotes: Notes = {
  id: 'Stays for as long as the source is there.',
  name: 'Unique; the name of its table in SQL.',
  description: 'What is in it.',
  aliases: 'Names that senders may use as well.',
  retention_days: 'How long entries are kept.',
  hot_fields: 'Paths of `metadata` that have a column of their own.',
  version: 'Counts the changes.',
  created_at: 'When it was made.',
  updated_at: 'When it was last changed.',
}

const planShape: z.ZodType<EndpointPlan> = z.object({
  plan: z.string(),
  reads: z.array(z.object({ table: z.string(), parts: z.number(), rows: z.number(), marks: z.number() })),
})
const slowCallShape: z.ZodType<SlowCall> = z.object({
  at: instant,
  duration_ms: z.number(),
  engine_ms: z.number(),
  rows_read: z.int().nullable(),
  status: z.int(),
  code: z.string().nullable(),
  request_id: z.string(),
  token_id: z.string(),
  version: z.int(),
  cache: z.string(),
  plan: planShape.nullable(),
})
const intakeShape: z.ZodType<IntakeOutcome & { message: string }> = z.object({
  message: z.literal('Logged!'),
  accepted: z.int(),
  rejected: z.int(),
  errors: z.array(z.object({ index: z.int(), reason: z.string() })),
})
const jsonPathShape: z.ZodType<JsonPath> = z.object({
  source: z.string(),
  path: z.string(),
  cast: z.string().nullable(),
})
const pathShape: z.ZodType<SourcePath> = z.object({
  path: z.string(),
  types: z.array(z.string()),
  entries: z.int(),
  sampled: z.int(),
  column: z.string().nullable(),
  filled: z.number().nullable(),
})
const entryShape = z.object({
  id: z.string(),
  timestamp: z.int(),
  project: z.string(),
  event_message: z.string(),
  metadata: z.record(z.string(), z.unknown()),
})
const sentEntryShape = z.looseObject({
  event_message: z.unknown().optional(),
  message: z.unknown().optional(),
  timestamp: z.union([z.string(), z.number()]).optional(),
  id: z.string().max(128).optional(),
  project: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
const readiness = { ready: z.boolean(), reason: z.string().exactOptional() }
const engineShape: z.ZodType<EngineStatus> = z.object({
  ...readiness,
  version: z.string().exactOptional(),
  restarts: z.int(),
})

const byName = (schema: string) => ({
  type: 'object',
  additionalProperties: { $ref: `#/components/schemas/${schema}` },
})

/** With what is ignored when it is sent, so that what was read can be sent back with a change. */
function endpointFields(use: 'input' | 'change'): ObjectSchema {
  const given = schemaOf(definitionShape, use, endpointNotes)
  const readOnly = Object.entries(schemaOf(madeEndpoint, 'output', endpointNotes).properties).map(
    ([name, field]) => [name, { ...field, readOnly: true }],
  )
  return withFields(
    {
      ...given,
      properties: { ...given.properties, ...Object.fromEntries(readOnly) },
      // The service makes an id for whoever sends none.
      ...(given.required && { required: given.required.filter((name) => name !== 'id') }),
    },
    { parameters: byName('ParameterFields') },
  )
}

const tokenView = joined(
  schemaOf(tokenShape, 'output', tokenNotes),
  schemaOf(madeToken, 'output', tokenNotes),
)

/** Every shape that the interface speaks of, by its name in the document. */
export const schemas = {
  Endpoint: withFields(
    joined(
      schemaOf(definitionShape, 'output', endpointNotes),
      schemaOf(madeEndpoint, 'output', endpointNotes),
    ),
    { parameters: byName('Parameter') },
  ),
  EndpointFields: endpointFields('input'),
  EndpointChange: endpointFields('change'),
  ...deploymentSchemas(endpointFields('input')),
  // Kept as text, and shown in the type of the parameter.
  Parameter: withFields(schemaOf(parameterShape, 'output', parameterNotes), {
    default: sentParameter.properties.default as object,
    enum: sentParameter.properties.enum as object,
    example: sentParameter.properties.example as object,
  }),
  ParameterFields: sentParameter,
  AccessToken: tokenView,
  NewAccessToken: joined(tokenView, schemaOf(z.object({ token: z.string() }), 'output', tokenNotes)),
  AccessTokenFields: schemaOf(tokenShape, 'input', tokenNotes),
  AccessTokenChange: schemaOf(tokenChangeShape, 'change', tokenNotes),
  Rotation: schemaOf(rotationShape, 'input', {
    overlap_seconds: 'So long the old secret goes on working.',
  }),
  Source: schemaOf(sourceShape, 'output', sourceNotes),
  SourceFields: schemaOf(newSourceShape, 'input', sourceNotes),
  SourceChange: schemaOf(sourceChangeShape, 'change', sourceNotes),
  SourcePath: schemaOf(pathShape, 'output', {
    path: 'Where it stands in `metadata`, with dots between the levels.',
    types: 'Types that were seen there, in the words of the engine.',
    entries: 'How many of the sampled entries have it.',
    sampled: 'How many of the newest entries were sampled.',
    column: 'Typed column that holds it; null: none.',
    filled: 'How much of the column is stored for older entries, from 0 to 1; null: there is no column.',
  }),
  JsonPath: schemaOf(jsonPathShape, 'output', {
    source: 'Source that it is read from.',
    path: 'Where it stands in `metadata`, with dots between the levels.',
    cast: 'Type that the SQL casts it to, in the words of the engine; null: none.',
  }),
  StoredEntry: schemaOf(entryShape, 'output', {
    id: 'As it was sent, or made by the service.',
    timestamp: 'Microseconds since 1970, UTC.',
    project: 'Empty for an entry that names none.',
    event_message: 'Text of the message.',
    metadata: 'As it was sent.',
  }),
  LogEntry: schemaOf(sentEntryShape, 'input', {
    event_message: 'Text of the message. What is no text is kept as JSON.',
    message: 'The same as event_message.',
    timestamp: 'ISO 8601, or an integer in s, ms, µs or ns, told by its size. Absent: the time of arrival.',
    id: 'Absent: a new UUIDv7.',
    project: 'Absent: `metadata.project_ref`, else `metadata.project`.',
    metadata: 'Anything nested. Other keys of the entry are kept inside of it.',
  }),
  LogAnswer: schemaOf(intakeShape, 'output', {
    message: 'Always the same.',
    accepted: 'Entries that are on disk now.',
    rejected: 'Entries that cannot be stored; their text is kept in the source `quarantine`.',
    errors: 'The rejected ones: their place in what was sent, and why.',
  }),
  Plan: schemaOf(planShape, 'output', {
    plan: 'What the engine would do.',
    reads: 'What it would read.',
  }),
  SlowCall: schemaOf(slowCallShape, 'output', {
    at: 'When it was answered.',
    duration_ms: 'From its arrival to the end of its answer.',
    engine_ms: 'How much of that the engine took; 0 where it is not known.',
    rows_read: 'Rows of sources that the engine read; null where it does not tell.',
    status: 'Of the answer; 499 where the caller did not wait for it.',
    code: 'Code of the error; null: none.',
    request_id: 'Names the request in the log.',
    token_id: 'Who called.',
    version: 'Of the endpoint.',
    cache: 'How the cache took part: `none`, `stale`, `miss`, `joined` or `bypass`.',
    plan: 'What the engine did, without values; null where none was taken.',
  }),
  Readiness: schemaOf(z.object(readiness), 'output', {
    ready: 'Whether calls and logs are served.',
    reason: 'Why not.',
  }),
  Status: schemaOf(z.looseObject({ version: z.string(), ...readiness, engine: engineShape }), 'output', {
    version: 'Of the service.',
    ready: 'Whether calls and logs are served.',
    reason: 'Why not.',
    engine: 'The engine: its version, and how often it was started again.',
  }),
} satisfies Record<string, ObjectSchema>

export type SchemaName = keyof typeof schemas
