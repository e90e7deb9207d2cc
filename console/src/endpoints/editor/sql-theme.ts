import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { Decoration, EditorView, MatchDecorator, ViewPlugin } from '@codemirror/view'
import { tags } from '@lezer/highlight'

const colour = (name: string) => `var(--${name})`

const highlight = HighlightStyle.define([
  { tag: tags.keyword, color: colour('code-keyword') },
  { tag: [tags.string, tags.special(tags.string)], color: colour('code-string') },
  { tag: [tags.number, tags.bool, tags.null], color: colour('code-number') },
  { tag: [tags.lineComment, tags.blockComment], color: colour('code-comment'), fontStyle: 'italic' },
  { tag: [tags.standard(tags.name), tags.typeName], color: colour('code-function') },
])

/** All colours come from the page, so that the theme changes without the editor. */
export function sqlTheme(height: number): Extension {
  return [
    syntaxHighlighting(highlight),
    EditorView.theme({
      '&': { fontSize: '13px', color: colour('text'), backgroundColor: 'transparent' },
      '&.cm-focused': { outline: 'none' },
      '.cm-scroller': {
        fontFamily: colour('mono'),
        lineHeight: '20px',
        minHeight: `${height}px`,
        maxHeight: `max(${height}px, 32vh)`,
      },
      '.cm-content': { padding: '10px 0', caretColor: colour('text') },
      '.cm-gutters': { backgroundColor: 'transparent', color: colour('faint'), border: 'none' },
      '.cm-cursor': { borderLeftColor: colour('text') },
      '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
        backgroundColor: 'color-mix(in srgb, var(--accent) 24%, transparent)',
      },
      '.cm-matchingBracket': { backgroundColor: colour('accent-soft') },
      '.cm-parameter, .cm-parameter *': { color: colour('code-parameter'), fontWeight: '600' },
      '.cm-tooltip': {
        backgroundColor: colour('surface'),
        color: colour('text'),
        border: '1px solid var(--line-strong)',
        borderRadius: '8px',
        boxShadow: colour('shadow-high'),
        overflow: 'hidden',
      },
      '.cm-tooltip-autocomplete > ul': { fontFamily: colour('mono'), fontSize: '12.5px' },
      '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
        backgroundColor: colour('accent-soft'),
        color: colour('text'),
      },
      '.cm-diagnostic-error': { borderLeftColor: colour('danger') },
      // Behind what differs is as little colour as can be seen, so that all the text on it can be read: the words
      // themselves are underlined.
      '.cm-insertedLine, &.cm-merge-b .cm-changedLine': {
        backgroundColor: 'color-mix(in srgb, var(--good) 10%, transparent)',
      },
      '.cm-deletedChunk': {
        backgroundColor: 'color-mix(in srgb, var(--danger) 9%, transparent)',
        paddingLeft: '6px',
      },
      '.cm-insertedLine, .cm-deletedLine, .cm-deletedLine del': { textDecoration: 'none' },
      '.cm-changedLine .cm-insertedLine': { backgroundColor: 'transparent' },
      '.cm-changedText, .cm-deletedText': {
        background: 'none !important',
        boxShadow: 'inset 0 -2px var(--good)',
      },
      '.cm-deletedText': { boxShadow: 'inset 0 -2px var(--danger)' },
    }),
  ]
}

const decorator = new MatchDecorator({
  regexp: /@[A-Za-z]\w*/g,
  decoration: Decoration.mark({ class: 'cm-parameter' }),
})

/** Parameters stand out, wherever they are. */
export const parameterMarks = ViewPlugin.define(
  (view) => ({
    decorations: decorator.createDeco(view),
    update(update) {
      this.decorations = decorator.updateDeco(update, this.decorations)
    },
  }),
  { decorations: (plugin) => plugin.decorations },
)
