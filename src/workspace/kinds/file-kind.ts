import type { TextPosition } from '../../base/files/yaml-fields.ts'
import type { FileProblem } from '../file-problem.ts'

/** A definition as the API takes it. */
export interface DefinitionFields {
  name: string
  /** Only of kinds whose files have ids. */
  id?: string
  [field: string]: unknown
}

/** An error or a warning of a service. */
export interface Finding {
  code: string
  message: string
  /** Path of a field, with dots. */
  parameter?: string | undefined
  /** In the SQL. */
  line?: number | undefined
  column?: number | undefined
}

export interface FileReading {
  fields: DefinitionFields
  /** Where the file has what a service found. */
  positionOf(finding: Finding): TextPosition
}

/** How files contain definitions of one kind. All else that a workspace does is the same for every kind. */
export interface FileKind {
  /** In the workspace, as in the API. */
  folder: string
  /** Of files that are read, and of those that are written. */
  extension: RegExp
  suffix: string
  /** What lists have before a name. */
  label: string
  /** Whether a deployment can delete what has no file. */
  prunes: boolean
  /** Whether a name is reserved for what every service has. No workspace manages it. */
  isReserved(name: string): boolean
  read(file: string, name: string, content: string): FileReading | { problems: FileProblem[] }
  /** The text of a file. Equal definitions have equal texts. */
  write(fields: DefinitionFields): string
  /** Reads what the API returns. The name is checked, because it becomes that of a file. */
  fieldsOf(view: object): DefinitionFields
  /** What the definition may need, such as `sources/orders`. */
  refersTo(fields: DefinitionFields): string[]
  /** The definition for a service that has no network. */
  offline?(fields: DefinitionFields): DefinitionFields
  /** The text of a file with an id. Undefined if it has one. */
  withId?(content: string, id: string): string | undefined
}
