/** Checks `limits:` beyond its schema: reports a limit of an unknown model, which would never
 *  apply. */
import { choicesFor } from '../../engine/config/nearest.ts'
import type { Document, Report } from '../../engine/plugin.ts'
import { modelsIn } from '../catalogue/configured.ts'
import type { Section } from './section.ts'

export const problemsIn = (document: Document, report: Report): void => {
  const { models = {} } = (document.limits ?? {}) as Section
  const known = modelsIn(document)
  for (const name of Object.keys(models)) {
    if (Object.hasOwn(known, name)) continue
    const { choices, suggestion } = choicesFor(name, 'models', Object.keys(known))
    report(
      ['limits', 'models', name],
      'LIMIT_MODEL',
      `no model is named "${name}"; use a name or pattern of \`models:\` as it is written there${choices}`,
      suggestion,
    )
  }
}
