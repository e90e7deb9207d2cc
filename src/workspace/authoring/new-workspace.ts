import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { packageFile } from '../../core/base/package-file.ts'
import { withId } from '../../core/endpoints/definition/missing-id.ts'

export const templates = ['supabase', 'supabase-hosted', 'nginx', 'otel', 'empty'] as const

export type Template = (typeof templates)[number]

export function newWorkspaceFiles(template: Template, newId: () => string): Record<string, string> {
  const files: Record<string, string> = {}
  for (const part of [template, 'common']) {
    const root = packageFile(`shipped/templates/${part}`)
    const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    for (const path of entries.map(({ parentPath, name }) => join(parentPath, name)).sort()) {
      // npm leaves such files out of packages.
      const file = relative(root, path)
        .split(sep)
        .join('/')
        .replace(/^git(?=ignore$|attributes$)/, '.git')
      const content = readFileSync(path, 'utf8')
      files[file] = file.endsWith('.sql') ? (withId(content, newId()) ?? content) : content
    }
  }
  return files
}
