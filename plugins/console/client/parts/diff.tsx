/** Differences of configuration files, as lines of a unified diff. */
import type { FileDiff } from '../../../views.ts'
import { text } from '../texts.ts'

const KINDS: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'hunk' }

export const Diff = ({ files }: { files: readonly FileDiff[] }) =>
  files.length === 0 ? (
    <p class="muted">{text('configuration.same')}</p>
  ) : (
    files.map(({ file, lines }) => (
      <figure key={file} class="diff">
        <figcaption class="mono">{file}</figcaption>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling needs focus */}
        <pre tabIndex={0}>
          {lines.map((line, index) => (
            <span key={index} class={KINDS[line[0] ?? ''] ?? ''}>
              {`${line}\n`}
            </span>
          ))}
        </pre>
      </figure>
    ))
  )
