export function imageBuilder(): { command?: string; why?: string }
export function buildImage(options?: {
  name?: string
  log?: (line: string) => void
}): Promise<{ command: string; name: string; bytes: number }>
