import type { LogSource } from '../../api/shapes.ts'
import { SelectField } from '../../ui/fields.tsx'
import { SearchField } from '../search/search-field.tsx'
import { splitFields } from '../source-fields.ts'
import type { Logs } from '../use-logs.ts'
import { ProjectField } from './project-field.tsx'
import { RangePicker } from './range-picker.tsx'
import { SourceField } from './source-field.tsx'

const weekMs = 604_800_000

interface LogsBarProps {
  logs: Logs
  sources: readonly LogSource[]
  filled: ReadonlySet<string> | undefined
}

/** What is searched: source, time, project, split and query. */
export function LogsBar({ logs, sources, filled }: LogsBarProps) {
  const { source, search, range, by, detected, error, ask, between } = logs
  const { query, project, fromMs, requestedMs } = search
  const splits = new Set([...splitFields(source.columns, detected), ...(by ? [by] : [])])
  return (
    <div className="logs-bar">
      <SourceField
        source={source.name}
        sources={sources}
        filled={filled}
        onChange={(chosen) => ask({ source: chosen, project: undefined, by: undefined, trace: undefined })}
      />
      <RangePicker
        range={range}
        onRelative={(chosen) => ask({ range: chosen, from: undefined, to: undefined, live: undefined })}
        onAbsolute={between}
      />
      {logs.hasProjects && (
        <ProjectField
          source={source.name}
          fromMs={Math.min(fromMs, requestedMs - weekMs)}
          project={project}
          onChange={(chosen) => ask({ project: chosen })}
        />
      )}
      <SelectField
        label="Split by"
        value={by ?? 'none'}
        options={[['none', 'Nothing'], ...[...splits].map((name) => [name] as const)]}
        onChange={(chosen) => ask({ by: chosen })}
      />
      <SearchField
        query={query}
        scope={{ source, project, fromMs, detected }}
        onFocus={() => logs.setTyping(true)}
        error={logs.isMisunderstood ? error : undefined}
        onSearch={(q) => ask({ q, trace: undefined })}
      />
    </div>
  )
}
