/** The head of a page: its title and its one primary action. */
import type { ComponentChildren } from 'preact'

export const PageHead = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="page-head">
    <h1>{title}</h1>
    <div class="row">{children}</div>
  </div>
)
