import { Document } from 'yaml'
import { z } from 'zod'
import { readYamlFile } from '../base/files/file-problem.ts'
import { formatDuration, parseDuration } from '../base/text/duration.ts'
import type { DefinitionFields, FileForm } from './kind.ts'

interface YamlFileOptions extends Partial<Pick<FileForm, 'prunes' | 'isReserved' | 'offline'>> {
  /** Fields that are set on the service only. */
  omitted?: readonly string[]
  example: string
  format?: (document: Document) => void
}

/** Files in YAML with the fields of the API. The file's name is the name. */
export function yamlFile(noun: string, shape: z.ZodObject, options: YamlFileOptions): FileForm {
  const { omitted = [], example, format, isReserved = () => false, ...form } = options
  const { name: nameShape, ...all } = shape.shape as Record<string, z.ZodType>
  const fields = Object.fromEntries(Object.entries(all).filter(([field]) => !omitted.includes(field)))
  // A file may have `every: 1m` in place of `every_seconds: 60`.
  const durations = Object.fromEntries(
    Object.keys(fields).flatMap((field) => (field.endsWith('_seconds') ? [[field.slice(0, -8), field]] : [])),
  )
  const fileShape = z.strictObject({ ...fields, ...durationShapes(fields, durations) })
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
      const own = Object.entries(withoutDefaults(fields, definition)).map(([field, value]) =>
        field.endsWith('_seconds') && typeof value === 'number'
          ? [field.slice(0, -8), formatDuration(value)]
          : [field, value],
      )
      const document = new Document(Object.fromEntries(own))
      format?.(document)
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

function withoutDefaults(shapes: Readonly<Record<string, z.ZodType>>, definition: DefinitionFields): object {
  const own = Object.entries(shapes).flatMap(([field, shape]) => {
    const isDefault = JSON.stringify(shape.safeParse(undefined).data) === JSON.stringify(definition[field])
    return isDefault ? [] : [[field, definition[field]]]
  })
  return Object.fromEntries(own)
}
