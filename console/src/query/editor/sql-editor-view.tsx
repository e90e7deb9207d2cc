import {
  acceptCompletion,
  autocompletion,
  closeCompletion,
  completionKeymap,
  completionStatus,
  selectedCompletion,
  setSelectedCompletion,
  startCompletion,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { sql } from '@codemirror/lang-sql'
import { bracketMatching } from '@codemirror/language'
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint'
import { unifiedMergeView } from '@codemirror/merge'
import { Annotation, EditorState, type Extension, Text } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view'
import { type Ref, useEffect, useImperativeHandle, useRef, useState } from 'react'
import { reportedTexts } from './reported-texts.ts'
import { type SqlNames, sqlCompletion } from './sql-completion.ts'
import { clickhouse } from './sql-dialect.ts'
import { parameterMarks, sqlTheme } from './sql-theme.ts'

interface SqlProblem {
  message: string
  line: number
  column: number
}

export interface SqlEditorProps {
  value: string
  label: string
  height: number
  onChange?: (value: string) => void
  onRun?: () => void
  problem?: SqlProblem | undefined
  warnings?: readonly SqlProblem[] | undefined
  names?: SqlNames
  /** An older text. The differences are marked. */
  original?: string
  control?: Ref<SqlEditorControl>
}

export interface SqlEditorControl {
  /** Replaces the selection with a name, and moves the focus to the editor. */
  insert: (text: string) => void
  focus: () => void
}

/** In a shadow root, because the content security policy of the page forbids the style elements of the editor. */
export default function SqlEditorView(props: SqlEditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const latest = useRef(props)
  latest.current = props
  const [reported] = useState(reportedTexts)

  useImperativeHandle(
    props.control,
    () => ({
      insert: (text) => {
        const editor = view.current
        if (!editor) return
        const { state } = editor
        const { from } = state.selection.main
        // Keeps a name apart from the word before it.
        const gap = /[\w`"')]/.test(state.sliceDoc(from - 1, from)) ? ' ' : ''
        editor.dispatch(state.replaceSelection(gap + text), { scrollIntoView: true, userEvent: 'input' })
        editor.focus()
      },
      focus: () => view.current?.focus(),
    }),
    [],
  )

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is created once; the effects below update it
  useEffect(() => {
    const element = host.current as HTMLDivElement
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
    const doc = textOf(props.value)
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc,
        selection: { anchor: doc.length },
        extensions: extensions(latest, reported),
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [props.original])

  useEffect(() => {
    const editor = view.current
    if (!editor || !reported.isChange(props.value, editor.state.doc.toString())) return
    const insert = textOf(props.value)
    editor.dispatch({
      changes: { from: 0, to: editor.state.doc.length, insert },
      selection: { anchor: insert.length },
      annotations: fromOutside.of(true),
    })
  }, [props.value, reported])

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the names were loaded
  useEffect(() => {
    const editor = view.current
    if (!editor) return
    // The user typed before the names were loaded.
    const before = editor.state.sliceDoc(0, editor.state.selection.main.head)
    if (editor.hasFocus && /\bmetadata\.\w*$/.test(before)) startCompletion(editor)
  }, [props.names])

  const { problem, warnings } = props
  useEffect(() => {
    const editor = view.current
    if (!editor) return
    editor.dispatch(setDiagnostics(editor.state, diagnosticsOf(editor.state, problem, warnings)))
  }, [problem, warnings])

  return <div className="editor" ref={host} style={{ minHeight: props.height }} />
}

const noNames: SqlNames = { sources: {}, paths: [], parameters: [] }

const fromOutside = Annotation.define<boolean>()

function extensions(
  latest: { current: SqlEditorProps },
  reported: ReturnType<typeof reportedTexts>,
): Extension[] {
  const { onChange, label, original, height } = latest.current
  return [
    lineNumbers(),
    drawSelection(),
    bracketMatching(),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    sqlTheme(height),
    sql({ dialect: clickhouse }),
    parameterMarks,
    ...(original === undefined ? [] : [unifiedMergeView({ original, mergeControls: false })]),
    ...(onChange
      ? [
          history(),
          typingOverSelection,
          lintGutter(),
          // Nothing is selected at first, so Enter begins a new line unless the user chose a completion.
          autocompletion({
            selectOnOpen: false,
            // Below the editor is what the check of the SQL found.
            aboveCursor: true,
            override: [sqlCompletion(() => latest.current.names ?? noNames)],
          }),
          keymap.of([
            {
              key: 'Mod-Enter',
              run: (view) => {
                closeCompletion(view)
                latest.current.onRun?.()
                return true
              },
            },
            { key: 'Tab', run: acceptFirst },
            ...completionKeymap,
            ...historyKeymap,
            ...defaultKeymap,
          ]),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged || update.transactions.some((one) => one.annotation(fromOutside))) return
            const text = update.state.doc.toString()
            reported.report(text, latest.current.value)
            latest.current.onChange?.(text)
          }),
        ]
      : [EditorState.readOnly.of(true), EditorView.editable.of(false)]),
  ]
}

/** When the browser replaces a selection, it creates inline styles, which the content security policy forbids. */
const typingOverSelection = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { inputType, data } = event
    if (inputType !== 'insertText' || data === null || view.state.selection.main.empty) return false
    event.preventDefault()
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true })
    return true
  },
})

/** Tab accepts the chosen completion or the first one. Without completions it leaves the editor. */
function acceptFirst(view: EditorView): boolean {
  if (completionStatus(view.state) === null) return false
  if (selectedCompletion(view.state) === null) view.dispatch({ effects: setSelectedCompletion(0) })
  acceptCompletion(view)
  return true
}

/** Text may be inserted before the user places the cursor, so the cursor starts at its end. */
function textOf(value: string): Text {
  return Text.of(value.split(/\r\n?|\n/))
}

function diagnosticsOf(
  state: EditorState,
  problem: SqlProblem | undefined,
  warnings: readonly SqlProblem[] = [],
): Diagnostic[] {
  const marked = (severity: 'error' | 'warning', { message, line: number, column }: SqlProblem) => {
    const line = state.doc.line(Math.min(Math.max(1, number), state.doc.lines))
    const from = Math.min(line.from + column - 1, line.to)
    const word = /^@?[\w.]+|^\S/.exec(state.doc.sliceString(from, line.to))?.[0].length ?? 0
    return { from, to: from + word, severity, message }
  }
  const all = [
    ...(problem ? [marked('error', problem)] : []),
    ...warnings.map((one) => marked('warning', one)),
  ]
  return all.sort((one, other) => one.from - other.from)
}
