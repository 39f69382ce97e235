/** What no schema can see of `limits:`: a model that is not there would be a limit that never holds. */
import type { Document, Report } from '../../engine/plugin.ts'
import { modelsIn } from '../catalogue/configured.ts'
import type { Section } from './section.ts'

export const problemsIn = (document: Document, report: Report): void => {
  const { models = {} } = (document.limits ?? {}) as Section
  const known = modelsIn(document)
  for (const name of Object.keys(models))
    if (!Object.hasOwn(known, name))
      report(
        ['limits', 'models', name],
        'LIMIT_MODEL',
        `there is no model "${name}" under models:; a limit is written under the name or pattern that stands there`,
      )
}
