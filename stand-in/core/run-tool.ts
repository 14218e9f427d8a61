import type { ToolCall } from '../../src/contract/chat-message.ts'
import type { ChatConfig, ToolDefinition } from './chat-config.ts'
import { ToolError } from './errors.ts'

export type ToolOutcome = Pick<ToolCall, 'result' | 'error'> & { readonly status: 'complete' | 'error' }

/** Runs a call under the configuration of this moment; whatever goes wrong is an outcome, never a throw. */
export async function runTool(config: ChatConfig, call: ToolCall): Promise<ToolOutcome> {
  try {
    const tool = toolOf(config, call.name)
    await authorize(config, 'execute', call)
    const value = await tool.execute?.(call.args, { toolCallId: call.id })
    return { status: 'complete', result: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') }
  } catch (error) {
    return { status: 'error', error: error instanceof Error ? error.message : String(error) }
  }
}

export function toolOf(config: ChatConfig, name: string): ToolDefinition {
  const tool = config.tools?.find((each) => each.name === name)
  if (!tool?.execute) throw new ToolError({ code: 'AK_TOOL_NOT_FOUND', message: `There is no tool "${name}".` })
  return tool
}

export async function authorize(config: ChatConfig, phase: 'propose' | 'execute', call: ToolCall): Promise<void> {
  if ((await config.authorizeToolCall?.({ phase, call })) === false) {
    throw new ToolError({ code: 'AK_TOOL_FORBIDDEN', message: `The tool "${call.name}" is not allowed here.` })
  }
}
