import { useCallback } from 'react'
import type { CallableEndpoint, Whoami } from '../../api/api-types.ts'
import { callEndpoint } from '../../api/call-endpoint.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { useAddress } from '../../ui/use-address.ts'
import { EndpointResult, type ResultView } from './endpoint-result.tsx'
import { ParameterForm } from './parameter-form.tsx'
import { RunButton } from './run-button.tsx'
import { useCheckedRun } from './use-checked-run.ts'
import { useParameterValues } from './use-parameter-values.ts'
import { refusedParameter, useRun } from './use-run.ts'
import { useRunShortcut } from './use-run-shortcut.ts'

/** For whoever may call an endpoint and not change it. */
export function EndpointCaller({ endpoint, who }: { endpoint: CallableEndpoint; who: Whoami }) {
  const { name, description, parameters, columns } = endpoint
  const [address, setAddress] = useAddress()
  const parameterValues = useParameterValues(parameters)
  const { values, change } = parameterValues
  const { run, start, stop } = useRun(
    useCallback((signal) => callEndpoint(name, values, { signal }), [name, values]),
  )
  const { begin, problem } = useCheckedRun(parameterValues, start)
  useRunShortcut(begin)
  return (
    <div className="page">
      <PageHead title={name}>
        <p>{description}</p>
      </PageHead>
      <form
        className="card card-body"
        onSubmit={(event) => {
          event.preventDefault()
          begin()
        }}
      >
        <div className="form-grid">
          <ParameterForm
            parameters={parameters}
            fixed={Object.fromEntries(Object.entries(who.parameters))}
            values={values}
            problem={problem ?? refusedParameter(run)}
            seenAt={() => undefined}
            onChange={change}
          />
        </div>
        <div>
          <RunButton run={run} stop={stop} />
        </div>
      </form>
      <EndpointResult
        run={run}
        columns={columns}
        name={name}
        values={values}
        view={(address.get('_view') as ResultView | null) ?? 'table'}
        onView={(view) => setAddress({ _view: view === 'table' ? undefined : view }, 'replace')}
      />
    </div>
  )
}
