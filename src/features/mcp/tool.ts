import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import type { EntryReader } from '../../core/access/entry-reader.ts'
import type { RequestAuthor } from '../../core/base/author.ts'
import type { JsonSchema } from '../../core/base/validation.ts'

export type ToolDefinition = Tool
export type ToolResult = CallToolResult

/** A tool that belongs to the service, not to an endpoint. */
export interface BuiltInTool {
  definition: ToolDefinition
  run(input: unknown, caller: EntryReader & { author: RequestAuthor }): Promise<ToolResult>
}

/** Tools of this feature. Endpoints cannot take their names, nor those of tools that other features add. */
export const builtInNames = [
  'list_sources',
  'describe_source',
  'search_logs',
  'check_endpoint',
  'save_endpoint',
] as const

/** Hints for tools that change nothing. */
export const readOnly = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const

export function named(name: string, title: string, hints: Tool['annotations'] = readOnly) {
  return { name, title, annotations: { title, ...hints } }
}

/** Makes the schema of a tool's input from the shape that reads it. */
export function inputSchema(shape: z.ZodObject): ToolDefinition['inputSchema'] {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' })
  return schema as ToolDefinition['inputSchema']
}

/** The schema of an object that has all these fields. Later versions may return more. */
export function outputSchema(properties: Record<string, JsonSchema>): NonNullable<Tool['outputSchema']> {
  return { type: 'object', properties, required: Object.keys(properties) }
}
