/** Checks `limits:` beyond its schema: reports a limit of an unknown model, which would never
 *  apply. */
import type { Document, Report } from '../../engine/plugin.ts'
import { modelsIn } from '../catalogue/configured.ts'
import type { Section } from './section.ts'

export const problemsIn = (document: Document, report: Report): void => {
  const { models = {} } = (document.limits ?? {}) as Section
  const knownModels = modelsIn(document)
  for (const name of Object.keys(models))
    if (!Object.hasOwn(knownModels, name))
      report(
        ['limits', 'models', name],
        'LIMIT_MODEL',
        `no model "${name}" is defined under models:; use a name or pattern from there`,
      )
}
