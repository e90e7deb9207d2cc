export interface TranscriptStep {
  command: string
  /** What the page shows after it; … stands for anything. */
  expected: string
}

/** The commands of a page and what it shows of their output: lines with "$ ", and "> " where one goes on. */
export function readTranscript(page: string): TranscriptStep[] {
  const blocks = [...page.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block]) => block as string)
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const lines = step.split('\n')
        const end = lines.findIndex((line, index) => index > 0 && !/^>(?: |$)/.test(line))
        const command = lines.slice(0, end).map((line, index) => (index === 0 ? line : line.slice(2)))
        return { command: command.join('\n'), expected: lines.slice(end).join('\n') }
      }),
  )
}

/** Whether an output is what the page shows. */
export function isShown(expected: string, output: string): boolean {
  const pattern = expected
    .trimEnd()
    .split('…')
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
    .join('[\\s\\S]*')
  return new RegExp(`^${pattern}$`).test(output.trimEnd())
}
