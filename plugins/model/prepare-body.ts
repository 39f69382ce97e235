/** Prepares a body for its model: the model's defaults, then the model's schema. */
import type { Exchange } from '../../engine/plugin.ts'
import { applyDefaults, type Defaults } from '../catalogue/defaults.ts'
import { jsonSize } from '../conversion/json-size.ts'
import { type Validator, validateRequest } from '../schema/compile.ts'
import { EXPANDED_REQUEST } from '../slots.ts'

/** A model's demands on bodies on one route. */
export interface BodyRules {
  readonly defaults: Defaults | undefined
  readonly validator: Validator | undefined
}

/** Defaults come first: a rule may depend on the value that the call is made with. */
export const prepareBody = async (
  { validator, defaults }: BodyRules,
  { request, slots }: Exchange,
): Promise<void> => {
  if (!defaults) {
    const refusal = validator && (await validateRequest(validator, request))
    if (refusal) throw refusal
    return
  }
  const body = await request.json()
  // The bytes of a form are sent unchanged, unless its JSON stands for it.
  const isJsonBody = !isForm(request) || slots.get(EXPANDED_REQUEST) !== undefined
  const expandedBody = isJsonBody ? applyDefaults(body, defaults) : undefined
  if (expandedBody !== undefined) {
    const size = jsonSize(expandedBody, request)
    request.setJson(expandedBody)
    slots.set(EXPANDED_REQUEST, { body: expandedBody, size, longer: true })
  }
  const refusal = validator?.validate(expandedBody ?? body)
  if (refusal) throw refusal
}
const isForm = ({ headers }: Exchange['request']): boolean =>
  /^multipart\//i.test(headers['content-type'] ?? '')
