/** Refusals of the batch endpoints, with the codes of OpenAI's clients. */
import { errors } from '../../engine/errors.ts'

const code = (text: string) => ({ openai: { code: text } })

export const fault = errors({
  BATCH_UNKNOWN: [404, "No batch found with id '%s'.", { param: 'batch_id' }],
  BATCH_FILE_PURPOSE: [
    400,
    "The file '%s' has the purpose '%s'. Upload the input of a batch with the purpose 'batch'.",
    { param: 'input_file_id', as: code('invalid_purpose') },
  ],
  BATCH_ENDPOINT: [
    400,
    "Invalid value: '%s'. Supported values are: %s.",
    { param: 'endpoint', as: code('invalid_value') },
  ],
  BATCH_ID_TWICE: [400, "The custom_id '%s' occurs more than once.", { param: 'requests' }],
  BATCH_RUNNING: [400, "The batch '%s' has not ended: cancel it before you delete it."],
  BATCH_UNFINISHED: [404, "The batch '%s' has no results yet."],
  BATCH_ENDED: [
    409,
    "Cannot cancel a batch with status '%s'.",
    { as: code('batch_not_cancellable') },
  ],
})
