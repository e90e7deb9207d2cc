import { isDeepStrictEqual } from 'node:util'
import { Document, isMap, isScalar, isSeq } from 'yaml'
import { z } from 'zod'
import { readYamlFile } from '../base/files/file-problem.ts'
import { formatDuration, parseDuration } from '../base/text/duration.ts'
import type { DefinitionFields, FileForm } from './kind.ts'

interface YamlFileOptions extends Partial<Pick<FileForm, 'prunes' | 'isReserved' | 'offline' | 'values'>> {
  /** Fields that are set on the service only. */
  omitted?: readonly string[]
  example: string
  /** Shapes of fields that files write in more ways than the API. */
  inFiles?: Readonly<Record<string, z.ZodType>>
  /** Lists and maps whose members have one line each. */
  inLines?: readonly string[]
}

/** Files in YAML with the fields of the API. The file's name is the name. */
export function yamlFile(noun: string, shape: z.ZodObject, options: YamlFileOptions): FileForm {
  const { omitted = [], example, inFiles = {}, inLines = [], isReserved = () => false, ...form } = options
  const { name: nameShape, ...all } = shape.shape as Record<string, z.ZodType>
  const fields = Object.fromEntries(Object.entries(all).filter(([field]) => !omitted.includes(field)))
  // A file may have `every: 1m` in place of `every_seconds: 60`.
  const durations = Object.fromEntries(
    Object.keys(fields).flatMap((field) => (field.endsWith('_seconds') ? [[field.slice(0, -8), field]] : [])),
  )
  const fileShape = z.strictObject({ ...fields, ...inFiles, ...durationShapes(fields, durations) })
  const viewShape = z.object({ name: nameShape as z.ZodType<string>, ...fields })
  return {
    prunes: true,
    isReserved,
    ...form,
    extension: /\.ya?ml$/,
    suffix: '.yaml',
    label: `${noun} `,
    read(file, name, content) {
      const { error } = (nameShape as z.ZodType).safeParse(name)
      const problem = error
        ? `The ${noun} name ${error.issues[0]?.message ?? 'is invalid'}.`
        : isReserved(name) && `The ${noun} ${name} is built in. Remove this file.`
      if (problem) return { problems: [{ file, line: 1, column: 1, message: problem }] }
      const isBlank = content.split('\n').every((line) => /^\s*(#|$)/.test(line))
      const reading = readYamlFile(file, isBlank ? '{}' : content, fileShape, example)
      if ('problems' in reading) return reading
      const { yaml, value } = reading
      const read: DefinitionFields = { name, ...value }
      for (const [short, field] of Object.entries(durations)) {
        if (read[short] !== undefined) read[field] = read[short]
        delete read[short]
      }
      return {
        fields: read,
        positionOf({ parameter = '' }) {
          const short = parameter.replace(/_seconds$/, '')
          return yaml.positionOf(Object.hasOwn(yaml.fields, short) ? [short] : parameter.split('.'))
        },
      }
    },
    write(definition) {
      const present = Object.keys(fields).flatMap((field) => [[field, definition[field]]])
      const written = withoutDefaults(
        z.object({ ...fields, ...inFiles }),
        Object.fromEntries(present),
      ) as object
      const own = Object.entries(written).map(([field, value]) =>
        field.endsWith('_seconds') && typeof value === 'number'
          ? [field.slice(0, -8), formatDuration(value)]
          : [field, value],
      )
      const document = new Document(Object.fromEntries(own))
      for (const field of inLines) writeInLines(document.get(field))
      return document.toString({ lineWidth: 0 }).replace(/^\{\}\n$/, '')
    },
    fieldsOf: (view) => viewShape.parse(view) as DefinitionFields,
  }
}

function durationShapes(
  fields: Readonly<Record<string, z.ZodType>>,
  durations: Readonly<Record<string, string>>,
): Record<string, z.ZodType> {
  const form = { error: 'must be a duration such as 900s, 15m or 1h' }
  const shapeOf = (field: string) =>
    z
      .string(form)
      .transform((text) => (text === 'none' ? null : parseDuration(text)))
      .refine((seconds) => seconds !== undefined, form)
      .pipe(fields[field] as z.ZodType<unknown, number | null>)
      .optional()
  return Object.fromEntries(Object.entries(durations).map(([short, field]) => [short, shapeOf(field)]))
}

/** The value without what its shape adds again when it is read, at any depth. */
function withoutDefaults(shape: unknown, value: unknown): unknown {
  if (shape instanceof z.ZodDefault || shape instanceof z.ZodOptional || shape instanceof z.ZodNullable) {
    return withoutDefaults(shape.unwrap(), value)
  }
  if (shape instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((each) => withoutDefaults(shape.element, each))
  }
  const isFields = shape instanceof z.ZodObject
  if (typeof value !== 'object' || value === null || !(isFields || shape instanceof z.ZodRecord)) return value
  const own = Object.entries(value).flatMap(([field, each]) => {
    const inner = (isFields ? shape.shape[field] : shape.valueType) as z.ZodType
    const isDefault = isFields && isDeepStrictEqual(inner.safeParse(undefined).data, each)
    return isDefault ? [] : [[field, withoutDefaults(inner, each)]]
  })
  return Object.fromEntries(own)
}

/** Each member in one line, unless it has members of its own or a text of several lines. */
function writeInLines(node: unknown): void {
  const members = isSeq(node) ? node.items : isMap(node) ? node.items.map(({ value }) => value) : []
  for (const member of members.filter(isMap)) {
    const values = member.items.map(({ value }) => value)
    const lists = values.filter((value) => isSeq(value) && value.items.some(isMap))
    for (const list of lists) writeInLines(list)
    const hasLines = values.some((value) => isScalar(value) && String(value.value).includes('\n'))
    member.flow = lists.length === 0 && !hasLines
  }
}
