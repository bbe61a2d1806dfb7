#include "tests/sdk/plugins/torch.hpp"

using stc::sdk_test::ModelFault;
using stc::sdk_test::OptimizerFault;
template <OptimizerFault kFault>
using Momentum = stc::sdk_test::Momentum<kFault>;
template <ModelFault kFault>
using Linear = stc::sdk_test::Linear<kFault>;

STC_DEFINE_EXACT_OPTIMIZER(Momentum<OptimizerFault::kNone>, "momentum", "1", "right");
STC_DEFINE_EXACT_OPTIMIZER(Momentum<OptimizerFault::kFactor>, "ignores_factor", "1", "ignores grad_factor");
STC_DEFINE_EXACT_OPTIMIZER(Momentum<OptimizerFault::kDecay>, "decays_without_gradient", "1",
                           "decays what has no gradient");
STC_DEFINE_EXACT_OPTIMIZER(Momentum<OptimizerFault::kFoundInf>, "ignores_found_inf", "1", "ignores found_inf");
STC_DEFINE_EXACT_OPTIMIZER(Momentum<OptimizerFault::kShape>, "any_shape", "1", "takes any shape");
STC_DEFINE_EXACT_OPTIMIZER(Momentum<OptimizerFault::kVelocity>, "forgets_velocity", "1", "does not load");
STC_DEFINE_EXACT_OPTIMIZER(Momentum<OptimizerFault::kReset>, "keeps_velocity", "1", "does not reset");
STC_DEFINE_EXACT_OPTIMIZER(Momentum<OptimizerFault::kSign>, "climbs", "1", "goes the wrong way");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kNone>, "linear", "1", "right");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kSeed>, "same_seed", "1", "ignores the seed");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kRestless>, "restless", "1", "another result each time");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kGradient>, "wrong_gradient", "1", "a wrong gradient");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kReplaces>, "replaces", "1", "does not accumulate");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kWeighsLoss>, "weighs_loss", "1", "weighs the loss");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kDetached>, "detached", "1", "detaches the loss");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kTwice>, "twice", "1", "lists a tensor twice");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kUnbound>, "unbound", "1", "its buffers are nobody's .grad");
STC_DEFINE_EXACT_MODEL(Linear<ModelFault::kPiles>, "piles", "1", "never clears its gradients");
STC_PLUGIN_LIBRARY(exact, Momentum<OptimizerFault::kNone>, Momentum<OptimizerFault::kFactor>,
                   Momentum<OptimizerFault::kDecay>, Momentum<OptimizerFault::kFoundInf>,
                   Momentum<OptimizerFault::kShape>, Momentum<OptimizerFault::kVelocity>,
                   Momentum<OptimizerFault::kReset>, Momentum<OptimizerFault::kSign>, Linear<ModelFault::kNone>,
                   Linear<ModelFault::kSeed>, Linear<ModelFault::kRestless>, Linear<ModelFault::kGradient>,
                   Linear<ModelFault::kReplaces>, Linear<ModelFault::kWeighsLoss>, Linear<ModelFault::kDetached>,
                   Linear<ModelFault::kTwice>, Linear<ModelFault::kUnbound>, Linear<ModelFault::kPiles>);
