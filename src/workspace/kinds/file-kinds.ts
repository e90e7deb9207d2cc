import { alertFiles } from './alert-files.ts'
import { endpointFiles } from './endpoint-files.ts'
import type { FileKind } from './file-kind.ts'
import { sourceFiles } from './source-files.ts'

/** In the order of references: a kind refers to those before it. */
export const fileKinds: readonly FileKind[] = [sourceFiles, endpointFiles, alertFiles]
