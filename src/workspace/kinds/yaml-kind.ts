import { Document } from 'yaml'
import { z } from 'zod'
import { readYamlFile } from '../file-problem.ts'
import type { DefinitionFields, FileKind } from './file-kind.ts'

interface YamlKindOptions
  extends Pick<FileKind, 'folder' | 'prunes' | 'isReserved' | 'refersTo' | 'offline'> {
  /** Of the API. The file's name is the name. */
  shape: z.ZodObject
  /** Fields that are set on the service only. */
  omitted?: readonly string[]
  example: string
  format?: (document: Document) => void
}

/** A kind whose files are YAML with the fields of the API. */
export function yamlKind(options: YamlKindOptions): FileKind {
  const { folder, shape, omitted = [], example, format, ...kind } = options
  const noun = folder.slice(0, -1)
  const { name: nameShape, ...all } = shape.shape as Record<string, z.ZodType>
  const fields = Object.fromEntries(Object.entries(all).filter(([field]) => !omitted.includes(field)))
  const fileShape = z.strictObject(fields)
  const viewShape = z.object({ name: nameShape as z.ZodType<string>, ...fields })
  return {
    ...kind,
    folder,
    extension: /\.ya?ml$/,
    suffix: '.yaml',
    label: `${noun} `,
    read(file, name, content) {
      const { error } = (nameShape as z.ZodType).safeParse(name)
      const problem = error
        ? `The ${noun} name ${error.issues[0]?.message ?? 'is invalid'}.`
        : kind.isReserved(name) && `The ${noun} ${name} is built in. Remove this file.`
      if (problem) return { problems: [{ file, line: 1, column: 1, message: problem }] }
      const isBlank = content.split('\n').every((line) => /^\s*(#|$)/.test(line))
      const reading = readYamlFile(file, isBlank ? '{}' : content, fileShape, example)
      if ('problems' in reading) return reading
      return {
        fields: { name, ...reading.value },
        positionOf: ({ parameter = '' }) => reading.yaml.positionOf(parameter.split('.')),
      }
    },
    write(definition) {
      const document = new Document(withoutDefaults(fields, definition))
      format?.(document)
      return document.toString({ lineWidth: 0 }).replace(/^\{\}\n$/, '')
    },
    fieldsOf: (view) => viewShape.parse(view) as DefinitionFields,
  }
}

function withoutDefaults(shapes: Readonly<Record<string, z.ZodType>>, definition: DefinitionFields): object {
  const own = Object.entries(shapes).flatMap(([field, shape]) => {
    const isDefault = JSON.stringify(shape.safeParse(undefined).data) === JSON.stringify(definition[field])
    return isDefault ? [] : [[field, definition[field]]]
  })
  return Object.fromEntries(own)
}
